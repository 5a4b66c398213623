mod gate;
mod port;
mod raw;
mod wire;
