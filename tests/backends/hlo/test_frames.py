"""Lines of the program that nodes cite, by the tables of a module."""

import pytest

from verdict.backends.hlo.instruction import named
from verdict.backends.hlo.text import read_module

TEXT = """HloModule jit_step, num_partitions=1

FileNames
1 "/home/user/train.py"
2 "/env/lib/python3.11/site-packages/optax/update.py"

FunctionNames
1 "step"
2 "apply.<locals>.each"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=7 end_line=7 column=4 end_column=9}}
2 {{file_name_id=1 function_name_id=1 line=9 end_line=9 column=4 end_column=9}}
3 {{file_name_id=2 function_name_id=2 line=42 end_line=42 column=0 end_column=0}}

StackFrames
1 {{file_location_id=1 parent_frame_id={0}}}
2 {{file_location_id=2 parent_frame_id={0}}}
3 {{file_location_id=3 parent_frame_id={1}}}
4 {{file_location_id=3 parent_frame_id={0}}}
5 {{file_location_id=9 parent_frame_id={0}}}

ENTRY %main {{
  %x = f32[] parameter(0), metadata={{op_name="x"}}
  %own = f32[] negate(%x), metadata={{op_name="neg" stack_frame_id=1}}
  %library = f32[] negate(%own), metadata={{op_name="neg" stack_frame_id=3}}
  %alone = f32[] negate(%library), metadata={{op_name="neg" stack_frame_id=4}}
  %lost = f32[] negate(%alone), metadata={{op_name="neg" stack_frame_id=5}}
  ROOT %stated = f32[] negate(%lost), metadata={{op_name="neg" source_file="a/b.py" source_line=3 stack_frame_id=1}}
}}
"""


@pytest.mark.parametrize("parents", [(1, 3), (0, 2)], ids=["one more than the number", "the number"])
def test_nodes_cite_the_innermost_line_that_is_of_no_package(parents):
    module = read_module(TEXT.format(*parents), "text")
    assert [named(each).rpartition(", line ")[0] for each in module.entry.instructions] == [
        "x",
        "train.py:7 step: own",
        "train.py:9 step: library",
        "update.py:42 apply.<locals>.each: alone",
        "lost",
        "b.py:3 step: stated",
    ]


LOOP = "\n3 {file_location_id=3 parent_frame_id=4"


def test_frames_that_call_themselves_end():
    text = TEXT.format(1, 3).replace("\n3 {file_location_id=3 parent_frame_id=3", LOOP)
    assert "update.py:42" in named(read_module(text, "text").entry.instructions[2])
