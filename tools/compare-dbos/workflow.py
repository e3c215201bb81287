"""Runs trivial workflows with DBOS and prints how many workflows and steps it does in a second."""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig

address, workflows, steps, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
config: DBOSConfig = {
    "name": "compare",
    "system_database_url": address,
    "sys_db_pool_size": max(20, threads + 5),
    "log_level": "ERROR",
}
DBOS(config=config)


@DBOS.step()
def add(left: int, right: int) -> int:
    return left + right


@DBOS.workflow()
def chain(count: int) -> int:
    total = 1
    for _ in range(count):
        total = add(total, 1)
    return total


DBOS.launch()
# The first workflow pays for what is made once.
assert chain(1) == 2
start = time.monotonic()
if threads == 1:
    results = [chain(steps) for _ in range(workflows)]
else:
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda _: chain(steps), range(workflows)))
elapsed = time.monotonic() - start
assert results == [steps + 1] * workflows, "a workflow gave another result"
print(f"{workflows / elapsed:.1f} {workflows * steps / elapsed:.0f}")
DBOS.destroy()
