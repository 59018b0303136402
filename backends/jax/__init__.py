"""JAX programs: compiled, or traced, in a process of their own, of which only texts are read (verdict/backends/hlo).

worker      what that process does; it needs jax and nothing of Verdict
traced      what jax traced, as HLO text; a part of that process
launch      starts it, with its limits, and hands on the texts
command     `verdict jax`
"""
