"""JAX programs: compiled in a process of their own, of which only XLA's texts are read (verdict/backends/hlo).

worker      what that process does; it needs jax and nothing of Verdict
launch      starts it, with its limits, and hands on the texts
command     `verdict jax`
"""
