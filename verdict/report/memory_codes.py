"""The codes of what the order of memory's use breaks: streams, waits, shared storage."""

from verdict.report.code import Code

OF_MEMORY = (
    Code(
        "read-before-wait",
        "a result is read before it is there",
        "What asynchronous communication makes is read, or declared as an output, with no wait between them.",
        "s = all_reduce(g) asynchronous=True    y = mul(s, x)                  wrong\n"
        "s = all_reduce(g) asynchronous=True    t = wait(s)    y = mul(t, x)    right",
        "Wait for the communication, and read what the wait returns.",
        "Sometimes the old content of the buffer, or half of the new one: noise that comes and goes with the load.",
    ),
    Code(
        "unordered-streams",
        "two streams, and nothing orders them",
        "A tensor that is made on one stream is read on another one without an event between the two.",
        'g = mul(x, y)                              s = all_reduce(g) stream="comm"    wrong\n'
        'g = mul(x, y)  record() event="g"  await() event="g" stream="comm"  s = ...  right',
        "Record an event behind the write, and await it on the other stream before the read.",
        "As reading before a wait.",
    ),
    Code(
        "stale-read",
        "its memory holds something else by now",
        "A tensor is read after another one was written into its memory: a view of a static buffer that the next "
        "replay of a graph overwrites, an operation in place through an alias.",
        "storage static: g1, g2    g1 = f(x1)  g2 = f(x2)  s = add(g1, g2)              wrong: 2 g2\n"
        "g1 = f(x1)  kept = contiguous(g1)  g2 = f(x2)  s = add(kept, g2)    right",
        "Copy the tensor before its memory is written again, or give it memory of its own.",
        "Accumulated gradients count the last microbatch several times; outputs repeat or belong to another input.",
    ),
    Code(
        "overwritten-early",
        "overwritten while it may still be read",
        "Memory is written again while asynchronous communication, or another stream, may still read what stood there.",
        "send(h1) peer=1 asynchronous=True    h2 = f(x2), in the memory of h1    wrong\n"
        "send(h1) peer=1 asynchronous=True    wait(h1)    h2 = f(x2)             right",
        "Wait for the reader before the memory is written again.",
        "A receiver gets parts of the next tensor: rare, and worse the faster the rest is.",
    ),
)
"""All of them."""
