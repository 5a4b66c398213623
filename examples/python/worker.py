"""A worker in Python: counts the words of the texts it is given. README.md says how to run it."""
import base64, contextlib, grpc, json, signal, sys, threading, types, uuid
from cambium.hypha.v1 import run_pb2, run_pb2_grpc, worker_pb2 as pb, worker_pb2_grpc

def work(attempt, inputs, stop):  # yours goes here; whoever goes on after `stop` works for nothing
    if stop.wait(json.loads(attempt.config or "{}").get("pace_s", 0)): raise InterruptedError("told to stop")
    if attempt.node == "total": return {"words": sum(part["words"] for part in inputs["count"])}
    return {"words": len(json.loads(attempt.item).split())}

def call(method, request, timeout=60):
    reply = method(request, timeout, [("authorization", f"Bearer {me.token}")])
    me.token = getattr(reply, "token", "") or me.token  # the next one, once this is past half its life
    return reply

def register():
    may = json.loads(base64.urlsafe_b64decode(me.token.split(".")[1] + "=="))  # for whom, as the token says
    reply = call(hypha.Register, pb.RegisterRequest(workspace_id=may["workspaces"][0], agent_ids=may["agents"], slots=1,
        worker=f"python-{me.incarnation}", incarnation=me.incarnation, request_id=str(uuid.uuid4())))
    me.registration, me.lease_s = reply.registration_id, reply.lease_ms / 1000

def beat(lease, stop):
    request = pb.HeartbeatRequest(registration_id=me.registration, leases=[lease])
    while not stop.wait(me.lease_s / 3):
        with contextlib.suppress(grpc.RpcError):  # a lease outlives two beats that are not heard
            state = call(hypha.Heartbeat, request, me.lease_s / 3).leases[0].state
            if state != pb.LEASE_STATE_OK: stop.set()  # cancelled, or lost to another worker

def do(attempt, stop):
    mine = {"registration_id": me.registration, "lease": attempt.lease}
    ask = lambda one: run_pb2.GetOutputRequest(workspace_id=attempt.workspace_id, task_id=one.task_id)
    try:  # an input too large for one reply is fetched
        inputs = {one.key: json.loads(one.inline or call(runs.GetOutput, ask(one)).output) for one in attempt.inputs}
        return hypha.Complete, pb.CompleteRequest(output=json.dumps(work(attempt, inputs, stop)).encode(), **mine)
    except Exception as why:
        return hypha.Fail, pb.FailRequest(code="EXCEPTION", retryable=not stop.is_set(), detail=repr(why)[:999], **mine)

# While the service is away a call waits, and is made again: what it has heard counts once.
AWAY = {"name": [{}], "waitForReady": True, "retryPolicy": {"maxAttempts": 5, "retryableStatusCodes": ["UNAVAILABLE"],
        "initialBackoff": "0.2s", "backoffMultiplier": 2, "maxBackoff": "3s"}}
OPTIONS = {"grpc.service_config": json.dumps({"methodConfig": [AWAY]}), "grpc.max_reconnect_backoff_ms": 3000,
           "grpc.max_receive_message_length": 8 << 20}
channel = grpc.insecure_channel(sys.argv[1], list(OPTIONS.items()))
hypha, runs = worker_pb2_grpc.WorkerServiceStub(channel), run_pb2_grpc.RunServiceStub(channel)
me = types.SimpleNamespace(token=open(sys.argv[2]).read().strip(), registration="", incarnation=str(uuid.uuid4()))
drain = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: drain.set())
while not drain.is_set():
    stop = threading.Event()
    try:
        if not me.registration: register()
        for attempt in call(hypha.Poll, pb.PollRequest(registration_id=me.registration, max=1, wait_ms=5000)).attempts:
            threading.Thread(target=beat, args=(attempt.lease, stop), daemon=True).start()
            call(*do(attempt, stop))
    except grpc.RpcError as error:  # the agent is not known yet, or another worker has the task by now
        print(error.code().name, error.details(), file=sys.stderr)
        if error.code() is grpc.StatusCode.NOT_FOUND: me.registration = ""  # register again
        if error.code() is grpc.StatusCode.UNAUTHENTICATED: raise
        drain.wait(1)
    finally: stop.set()
