"""Models of other kinds, as they are: one head of keys and values for all queries, states in place of attention."""

import transformers as hf
from data_parallel import ddp, single
from models import DIM, HEADS, SEQ, VOCAB


def falcon():
    more = {"num_kv_heads": 1, "new_decoder_architecture": False, "ffn_hidden_size": 16}
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "num_hidden_layers": 1, "num_attention_heads": HEADS}
    return hf.FalconForCausalLM(hf.FalconConfig(**sizes, **more))


def mamba():
    sizes = {"vocab_size": VOCAB, "hidden_size": 4, "state_size": 2, "num_hidden_layers": 1, "expand": 2}
    return hf.MambaForCausalLM(hf.MambaConfig(**sizes, conv_kernel=2, time_step_rank=2))


def distilbert():
    sizes = {"vocab_size": VOCAB, "dim": DIM, "hidden_dim": 16, "n_layers": 1, "n_heads": HEADS}
    more = {"max_position_embeddings": SEQ, "dropout": 0.0, "attention_dropout": 0.0}
    return hf.DistilBertForMaskedLM(hf.DistilBertConfig(**sizes, **more))


falcon_single, falcon_ddp, falcon_ddp_scaled = single(falcon), ddp(falcon), ddp(falcon, scale=0.5)
mamba_single, mamba_ddp, mamba_ddp_scaled = single(mamba), ddp(mamba), ddp(mamba, scale=0.5)
distilbert_single, distilbert_ddp, distilbert_ddp_scaled = (
    single(distilbert), ddp(distilbert), ddp(distilbert, scale=0.5),
)  # fmt: skip
