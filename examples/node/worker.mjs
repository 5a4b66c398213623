// A worker in Node: counts the words of the texts it is given. README.md says how to run it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
async function work(attempt, inputs, signal) { // yours goes here; whoever goes on after `signal` works for nothing
  await sleep(1000 * (json(attempt.config)?.pace_s ?? 0), null, { signal });
  if (attempt.node === 'total') return { words: inputs.count.reduce((sum, part) => sum + part.words, 0) };
  return { words: json(attempt.item).split(/\s+/).filter(Boolean).length };
}
const json = (bytes) => (bytes.length ? JSON.parse(bytes) : null); // what travels is JSON
const call = (service, method, request, timeout = 60_000) => new Promise((done, failed) => {
  const metadata = new grpc.Metadata({ waitForReady: true });
  metadata.set('authorization', `Bearer ${me.token}`);
  service[method](request, metadata, { deadline: Date.now() + timeout }, (error, reply) => {
    if (reply?.token) me.token = reply.token; // the next one, once this is past half its life
    return error ? failed(error) : done(reply);
  });
});
async function register() {
  const may = json(Buffer.from(me.token.split('.')[1], 'base64url')); // for whom, as the token says
  ({ registration_id: me.registration_id, lease_ms: me.lease_ms } = await call(hypha, 'Register', { workspace_id: may.workspaces[0],
    agent_ids: may.agents, slots: 1, worker: `node-${me.incarnation}`, incarnation: me.incarnation, request_id: randomUUID() }));
}
async function beat(lease, stop) { // a lease outlives two beats that are not heard
  const reply = await call(hypha, 'Heartbeat', { registration_id: me.registration_id, leases: [lease] }, me.lease_ms / 3).catch(() => null);
  if (reply && reply.leases[0].state !== 'LEASE_STATE_OK') stop.abort(); // cancelled, or lost to another worker
}
async function read({ workspace_id, inputs }) { // an input too large for one reply is fetched
  const one = async ({ key, inline, task_id }) => [key, json(inline ?? (await call(runs, 'GetOutput', { workspace_id, task_id })).output)];
  return Object.fromEntries(await Promise.all(inputs.map(one)));
}
async function attend(attempt, stop = new AbortController()) {
  const beating = setInterval(beat, me.lease_ms / 3, attempt.lease, stop);
  const end = await read(attempt).then((inputs) => work(attempt, inputs, stop.signal))
    .then((output) => ['Complete', { output: Buffer.from(JSON.stringify(output)) }])
    .catch((why) => ['Fail', { code: 'EXCEPTION', retryable: !stop.signal.aborted, detail: `${why}`.slice(0, 999) }]);
  await call(hypha, end[0], { registration_id: me.registration_id, lease: attempt.lease, ...end[1] }).finally(() => clearInterval(beating));
}
const [server, tokenFile, protos = fileURLToPath(new URL('../../proto', import.meta.url))] = process.argv.slice(2);
const { WorkerService, RunService } = grpc.loadPackageDefinition(loadSync(['worker', 'run'].map((it) => `cambium/hypha/v1/${it}.proto`),
  { includeDirs: [protos], keepCase: true, enums: String, longs: Number, defaults: true })).cambium.hypha.v1;
const retryPolicy = { maxAttempts: 5, initialBackoff: '0.2s', backoffMultiplier: 2, maxBackoff: '3s', retryableStatusCodes: ['UNAVAILABLE'] };
const options = { 'grpc.service_config': JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy }] }), 'grpc.max_reconnect_backoff_ms': 3000, 'grpc.max_receive_message_length': 8 << 20 };
const [hypha, runs] = [WorkerService, RunService].map((Service) => new Service(server, grpc.credentials.createInsecure(), options));
const me = { token: readFileSync(tokenFile, 'utf8').trim(), incarnation: randomUUID(), drains: false };
process.once('SIGTERM', () => (me.drains = true));
while (!me.drains) await (async () => {
  if (!me.registration_id) await register();
  for (const attempt of (await call(hypha, 'Poll', { registration_id: me.registration_id, max: 1, wait_ms: 5000 })).attempts) await attend(attempt);
})().catch(async (error) => { // the agent is not known yet, or another worker has the task by now
  console.error(`${grpc.status[error.code]} ${error.details}`);
  if (!error.code || error.code === grpc.status.UNAUTHENTICATED) throw error;
  if (error.code === grpc.status.NOT_FOUND) delete me.registration_id; // register again
  await sleep(1000);
});
for (const client of [hypha, runs]) client.close();
