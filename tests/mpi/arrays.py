#!/usr/bin/python3
"""mpi4py with NumPy: messages, collectives and windows of arrays and of Python's objects. Prints digests of what each rank received, which
do not depend on who carries the data."""
import hashlib
import sys

try:
    import numpy as np
    from mpi4py import MPI
except ImportError as e:
    print(f'SKIPPED: {e} (package python3-mpi4py)')
    sys.exit(77)

world = MPI.COMM_WORLD
me, size = world.rank, world.size
digest = hashlib.sha256()


def note(x):
    digest.update(x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode())


def section(name):
    global digest
    for r, text in enumerate(world.gather(digest.hexdigest()[:16], root=0) or []):
        print(f'{name:24} rank {r}  {text}', flush=True)
    digest = hashlib.sha256()


def array(kind, count=120):
    return (np.arange(count) % 7 + me).astype(kind)


kinds = ['i1', 'u1', 'i2', 'i4', 'u4', 'i8', 'f4', 'f8', 'c8', 'c16']

for kind in kinds:
    a = ((np.arange(120) + me) % 3).astype(kind)
    ops = [MPI.SUM, MPI.PROD] + ([] if kind[0] == 'c' else [MPI.MAX, MPI.MIN]) + ([MPI.BXOR, MPI.BOR] if kind[0] in 'iu' else [])
    for op in ops:
        out = np.zeros_like(a)
        world.Allreduce(a, out, op=op), note(out)
        world.Reduce(a, out, op=op, root=size - 1), note(out)
        world.Scan(a, out, op=op), note(out)
        out = a.copy()
        world.Allreduce(MPI.IN_PLACE, out, op=op), note(out)
        request = world.Iallreduce(a, out, op=op)
        request.Wait(), note(out)
        block = np.zeros(120 // size, kind)
        world.Reduce_scatter_block(a[:len(block) * size], block, op=op), note(block)
section('reductions')

for kind in kinds:
    a = array(kind)
    if me == 0:
        b = a.copy()
    else:
        b = np.zeros_like(a)
    world.Bcast(b, root=0), note(b)
    everything = np.zeros((size, len(a)), kind)
    world.Allgather(a, everything), note(everything)
    world.Gather(a, everything if me == 1 % size else None, root=1 % size), note(everything)
    world.Scatter(everything if me == 0 else None, b, root=0), note(b)
    out = np.zeros_like(everything)
    world.Alltoall(everything + np.array(me).astype(kind), out), note(out)
    counts = [r % 3 + 1 for r in range(size)]
    starts = [sum(counts[:r]) for r in range(size)]
    out = np.zeros(sum(counts), kind)
    world.Allgatherv(a[:counts[me]], [out, counts, starts, MPI._typedict[np.dtype(kind).char]]), note(out)
    world.Alltoallv([a, [counts[me]] * size, [r for r in range(size)], MPI._typedict[np.dtype(kind).char]],
                    [out, counts, starts, MPI._typedict[np.dtype(kind).char]]), note(out)
section('blocks')

note(world.allreduce(me)), note(world.allreduce([me], op=MPI.SUM)), note(world.bcast({'from': 'root', 'list': list(range(me))} if me == 0 else None))
note(world.allgather('r' * (me + 1))), note(world.alltoall([(me, r) for r in range(size)])), note(world.scatter([{r: 'x'} for r in range(size)] if me == 0 else None))
note(world.scan(me)), note(world.exscan(me)), note(world.gather((me, 'tuple'), root=size - 1))
concatenation = MPI.Op.Create(lambda a, b, _: a + b, commute=False)
note(world.allreduce(f'<{me}>', op=concatenation))


def one_after_the_other(a, b, _):  # x -> factor * x + summand
    first, second = np.frombuffer(a, 'i8').reshape(-1, 2), np.frombuffer(b, 'i8').reshape(-1, 2)
    second[:, 1] += first[:, 1] * second[:, 0]
    second[:, 0] *= first[:, 0]


composition = MPI.Op.Create(one_after_the_other, commute=False)
pair = MPI.INT64_T.Create_contiguous(2).Commit()
got = np.zeros(50, 'i8')
world.Allreduce([array('i8', 50), 25, pair], [got, 25, pair], op=composition), note(got)
composition.Free(), pair.Free()
section('objects')

right, left = (me + 1) % size, (me - 1) % size
for count in (0, 1, 100, 10000, 300000):
    out, got = np.arange(count, dtype='f8') + me, np.full(count, -1.0)
    world.Sendrecv(out, dest=right, sendtag=count, recvbuf=got, source=left, recvtag=count), note(got)
    requests = [world.Irecv(got, source=left), world.Isend(2 * out, dest=right)]
    MPI.Request.Waitall(requests), note(got)
    column = MPI.DOUBLE.Create_vector(count // 2, 1, 2).Commit()
    got = np.full(count + 1, -1.0)
    status = MPI.Status()
    request = world.Isend([out, 1, column], dest=right, tag=7)
    world.Probe(source=MPI.ANY_SOURCE, tag=7, status=status)
    note(status.Get_count(MPI.DOUBLE))
    world.Recv([got, 1, column], source=status.source, tag=7), note(got)
    request.Wait()
    column.Free()
request = world.isend({'rank': me, 'text': 'x' * 1000 * me}, dest=right, tag=1)
note(world.recv(source=left, tag=1))
request.wait()
message = None
request = world.isend([me] * 50, dest=left, tag=2)
while message is None:
    message = world.improbe(source=right, tag=2)
note(message.recv())
request.wait()
section('messages')

half = world.Split(me % 2, -me)
note(half.allgather(me))
grid = world.Create_cart([size], periods=[size > 2])
if size > 2:
    note(grid.neighbor_allgather(me)), note(grid.neighbor_alltoall([(me, 'minus'), (me, 'plus')]))
half.Free(), grid.Free()
section('communicators')

window = MPI.Win.Allocate(800, 8, comm=world)
memory = np.frombuffer(window.tomemory(), 'f8')
memory[:] = 0
window.Fence()
window.Put(np.arange(100.0) + me, right)
window.Fence()
note(memory)
world.Barrier()
window.Accumulate(np.ones(100), left, op=MPI.SUM)
window.Fence()
note(memory)
window.Free()
section('windows')
