"""Disks for tests of databases."""

import random

import pytest

import tailcut

PAGE = 4096


def complete(disk, ticket):
    """Lets the time pass until an operation is over."""
    while True:
        for completion in disk.advance(disk.next_event()):
            if completion.ticket == ticket:
                return completion


def test_a_disk_returns_what_was_written_and_says_where_the_time_went():
    disk = tailcut.Disk("collecting", 7, capacity=16 << 20)
    assert disk.capacity == 16 << 20 and disk.next_event() is None
    written = complete(disk, disk.write(0, PAGE, b"x" * PAGE))
    assert (written.op, written.error, written.data) == ("write", None, b"")
    read = complete(disk, disk.read(disk.now_ns, PAGE, 512))
    assert (read.op, read.error, read.data) == ("read", None, b"x" * 512)
    for completion in (written, read):
        assert sum(completion.spans.values()) == completion.latency_ns > 0
        assert completion.spans[completion.cause] == max(completion.spans.values())
    complete(disk, disk.trim(disk.now_ns, PAGE, PAGE))
    assert disk.peek(PAGE, PAGE) == bytes(PAGE)


def test_equal_seeds_give_equal_nanoseconds():
    def latencies(seed):
        disk, draw = tailcut.Disk("collecting", seed, capacity=16 << 20), random.Random(1)
        found = []
        for _ in range(40):
            for _ in range(32):
                disk.write(disk.now_ns, draw.randrange(4096) * PAGE, b"y" * PAGE)
            found.append(complete(disk, disk.flush(disk.now_ns)).latency_ns)
        return found

    assert latencies(3) == latencies(3)
    assert latencies(3) != latencies(4)


def lost_commits(syncs):
    """The first seed of power cuts after which an acknowledged commit is not there."""
    for seed in range(50):
        disk = tailcut.Disk("fresh", seed)
        for number in range(1, 9):
            complete(disk, disk.write(disk.now_ns, number * PAGE, bytes([number]) * PAGE))
            if syncs:
                complete(disk, disk.flush(disk.now_ns))
        cut = disk.power_cut(disk.now_ns, seed)
        assert set(cut) == {"aborted", "survived", "lost", "torn"}
        if any(disk.peek(number * PAGE, 1 << 9)[0] != number for number in range(1, 9)):
            return seed
    return None


def test_a_forgotten_flush_is_found_and_a_remembered_one_holds():
    assert lost_commits(syncs=False) is not None
    assert lost_commits(syncs=True) is None


def test_faults_do_what_they_are_called():
    disk = tailcut.Disk("fresh", 1)
    complete(disk, disk.write(0, 0, b"a" * PAGE, fua=True))
    disk.flip_bit(1000, 1)
    assert disk.peek(512, 512).index(b"c") == 488
    disk.corrupt(0, 512, 9)
    assert b"a" not in disk.peek(0, 512)
    disk.misdirect_write(PAGE)
    complete(disk, disk.write(disk.now_ns, 0, b"b" * PAGE))
    assert disk.peek(PAGE, PAGE) == b"b" * PAGE
    disk.misdirect_read(PAGE)
    assert complete(disk, disk.read(disk.now_ns, 0, 512)).data == b"b" * 512
    disk.fail_reads(2 * PAGE, PAGE)
    assert complete(disk, disk.read(disk.now_ns, 2 * PAGE, 512)).error == "a sector cannot be read"
    usual = complete(disk, disk.read(disk.now_ns, 0, PAGE)).latency_ns
    ticket = disk.read(disk.now_ns, 0, PAGE)
    disk.stall(disk.now_ns, 5_000_000)
    assert complete(disk, ticket).latency_ns >= 5_000_000 + usual // 2
    disk.slow_by(disk.now_ns, 1000)
    assert complete(disk, disk.read(disk.now_ns, 0, PAGE)).latency_ns >= 5 * usual
    disk.die(disk.now_ns)
    assert disk.is_dead
    assert complete(disk, disk.read(disk.now_ns, 0, PAGE)).error == "the disk does not respond"


def test_wrong_input_is_an_error_that_says_what_is_right():
    with pytest.raises(ValueError, match="no personality of a disk: write one of fresh, "):
        tailcut.Disk("old")
    for wrong in ({"capacity": 5000}, {"atomic_unit": 3}, {"queue_depth": 0}):
        with pytest.raises(ValueError, match="not (5000|3|0)"):
            tailcut.Disk(**wrong)
    disk = tailcut.Disk(queue_depth=1)
    with pytest.raises(ValueError, match="100 bytes at 0 are not whole sectors"):
        disk.write(0, 0, b"z" * 100)
    with pytest.raises(ValueError, match="has no 512 bytes at"):
        disk.peek(disk.capacity, 512)
    with pytest.raises(ValueError, match="100 to 1,000,000 %"):
        disk.slow_by(0, 50)
    disk.read(10, 0, 512)
    with pytest.raises(BlockingIOError, match="queue of the disk is full"):
        disk.read(10, 0, 512)
    with pytest.raises(ValueError, match="time runs backwards: from 10 ns to 9 ns"):
        disk.advance(9)
    beyond = tailcut.Disk()
    assert "range of sectors" in complete(beyond, beyond.read(0, beyond.capacity, 512)).error
    assert "collecting" in tailcut.Disk.personalities()
