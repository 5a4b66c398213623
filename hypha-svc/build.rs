//! Makes cargo notice a new migration: `sqlx::migrate!` embeds the folder.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
