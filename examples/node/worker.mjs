// A worker in Node: counts the words of the texts it is given. README.md says how to run it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

// Yours goes here. Whoever goes on after `signal` works for nothing.
async function work(attempt, inputs, signal) {
  await sleep(1000 * (json(attempt.config)?.pace_s ?? 0), null, { signal });
  if (attempt.node === 'total') return { words: inputs.count.reduce((sum, part) => sum + part.words, 0) };
  return { words: json(attempt.item).split(/\s+/).filter(Boolean).length };
}

// While the service is away a call is made again, ever more slowly: what it has heard counts once.
async function call(method, request, timeout = 10_000, service = hypha) {
  for (let pause = 200; ; pause = Math.min(2 * pause, 3000)) {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${me.token}`);
    const options = { deadline: Date.now() + timeout };
    const [error, reply] = await new Promise((heard) => {
      service[method](request, metadata, options, (...answer) => heard(answer));
    });
    me.token = reply?.token || me.token; // the next one, once this is past half its life
    if (!error) return reply;
    if (draining || ![grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED].includes(error.code)) throw error;
    await sleep(pause * (0.5 + Math.random() / 2));
  }
}

async function register() {
  const may = JSON.parse(Buffer.from(me.token.split('.')[1], 'base64url')); // for whom, as the token says
  const reply = await call('Register', {
    workspace_id: may.workspaces[0], agent_ids: may.agents, slots: 1,
    worker: `node-${me.incarnation}`, incarnation: me.incarnation, request_id: randomUUID(),
  });
  [me.registration_id, me.lease_ms] = [reply.registration_id, reply.lease_ms];
}

async function beat(lease, stop) {
  const request = { registration_id: me.registration_id, leases: [lease] };
  const reply = await call('Heartbeat', request, me.lease_ms / 3).catch(() => null);
  if (reply && reply.leases[0].state !== 'LEASE_STATE_OK') stop.abort(); // cancelled, or lost to another worker
}

// An input too large for one reply is fetched.
async function read({ workspace_id, inputs }) {
  const fetched = ({ task_id }) => call('GetOutput', { workspace_id, task_id }, 10_000, runs);
  const one = async (input) => [input.key, json(input.inline ?? (await fetched(input)).output)];
  return Object.fromEntries(await Promise.all(inputs.map(one)));
}

async function attend(attempt) {
  const stop = new AbortController();
  const beating = setInterval(beat, me.lease_ms / 3, attempt.lease, stop);
  const end = await read(attempt)
    .then((inputs) => work(attempt, inputs, stop.signal))
    .then((output) => ['Complete', { output: Buffer.from(JSON.stringify(output)) }])
    .catch((why) => ['Fail', { code: 'EXCEPTION', retryable: !stop.signal.aborted, detail: `${why}`.slice(0, 999) }]);
  const mine = { registration_id: me.registration_id, lease: attempt.lease };
  await call(end[0], { ...mine, ...end[1] }).finally(() => clearInterval(beating));
}

const json = (bytes) => (bytes.length ? JSON.parse(bytes) : null);
const [server, tokenFile, protos = fileURLToPath(new URL('../../proto', import.meta.url))] = process.argv.slice(2);
const definitions = loadSync(['cambium/hypha/v1/worker.proto', 'cambium/hypha/v1/run.proto'], {
  includeDirs: [protos], keepCase: true, enums: String, longs: Number, defaults: true,
});
const { WorkerService, RunService } = grpc.loadPackageDefinition(definitions).cambium.hypha.v1;
const options = { 'grpc.max_reconnect_backoff_ms': 3000, 'grpc.max_receive_message_length': 8 << 20 };
const [hypha, runs] = [WorkerService, RunService].map(
  (Service) => new Service(server, grpc.credentials.createInsecure(), options),
);
const me = { token: readFileSync(tokenFile, 'utf8').trim(), registration_id: '', incarnation: randomUUID() };
let draining = false;
process.on('SIGTERM', () => (draining = true));

while (!draining) {
  try {
    if (!me.registration_id) await register();
    const poll = { registration_id: me.registration_id, max: 1, wait_ms: 5000 };
    for (const attempt of (await call('Poll', poll, 15_000)).attempts) await attend(attempt);
  } catch (error) {
    if (!error.code || error.code === grpc.status.UNAUTHENTICATED) throw error;
    console.error(`${grpc.status[error.code]} ${error.details}`); // the agent is not known yet, or the lease is lost
    if (error.code === grpc.status.NOT_FOUND) me.registration_id = ''; // register again
    await sleep(1000);
  }
}
hypha.close();
runs.close();
