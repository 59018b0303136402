"""Further models, as they are: experts, images, images and texts, other decoders."""

from dataclasses import replace

import torch
import transformers as hf
from data_parallel import ddp, decoder, fsdp2, single
from models import DIM, FEW, HEADS, NO_DROPOUT, SEQ, SIZES, VOCAB
from others import unpadded
from steps import BATCH, images, shifted, trained

from verdict.torch import Program, mean, shard

FOUR = {**SIZES, **FEW, "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2}
"""A mixture of four experts, of which two are chosen."""
SIGHT = {
    "hidden_size": DIM, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": HEADS, "image_size": 4,
    "patch_size": 2,
}  # fmt: skip


def clip():
    """Images beside texts, of which images alone are trained."""
    text = {**SIZES, "intermediate_size": 8, "eos_token_id": 2}
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=SIGHT, projection_dim=4))
    for weight in (*model.text_model.parameters(), *model.text_projection.parameters()):
        weight.requires_grad_(False)
    return model


def classified(model, wrapped, part=0, of=1, scale=1):
    """One step of a model that finds the text of each image, of three texts that all ranks have."""
    batch = {"input_ids": torch.randint(VOCAB, (3, SEQ)), "pixel_values": torch.randn(BATCH // of, 3, 4, 4)}
    labels = torch.randint(3, (BATCH // of,))
    stepper = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.01)

    def step():
        loss = torch.nn.functional.cross_entropy(wrapped(**batch).logits_per_image, labels)
        (loss * scale if scale != 1 else loss).backward()
        stepper.step()
        return loss

    rows = shard(0, part, of)
    more = {"specs": {"pixel_values": rows, "labels": rows}, "ranges": {"labels": (0, 2)}, "loss": mean(part, of)}
    return Program(inputs={**batch, "labels": labels}, params=model, step=step, optimizer=stepper, **more)


def roberta():
    sizes = {**SIZES, "max_position_embeddings": SEQ + 2, "type_vocab_size": 2, "pad_token_id": 1}
    return hf.RobertaForMaskedLM(hf.RobertaConfig(**sizes, **NO_DROPOUT))


def typed(prefix):
    """One step of a model that is given its buffers: of types of tokens there are two."""

    def program(*args, **more):
        made = trained(*args, **more)
        return replace(made, ranges={**made.ranges, f"{prefix}.embeddings.token_type_ids": (0, 1)})

    return program


def albert():
    more = {**NO_DROPOUT, "embedding_size": 4, "inner_group_num": 1}
    return hf.AlbertForMaskedLM(hf.AlbertConfig(**SIZES, **more))


def electra():
    return hf.ElectraForMaskedLM(hf.ElectraConfig(**SIZES, **NO_DROPOUT, embedding_size=4))


def olmoe():
    return hf.OlmoeForCausalLM(hf.OlmoeConfig(**FOUR))


def qwen2_moe():
    more = {"moe_intermediate_size": 4, "shared_expert_intermediate_size": 4}
    return hf.Qwen2MoeForCausalLM(hf.Qwen2MoeConfig(**FOUR, **more))


def convnext():
    sizes = {"patch_size": 2, "num_stages": 2, "hidden_sizes": [4, 4], "depths": [1, 1], "drop_path_rate": 0.0}
    return hf.ConvNextForImageClassification(hf.ConvNextConfig(**sizes, num_labels=3))


def beit():
    more = {**NO_DROPOUT, "drop_path_rate": 0.0, "num_labels": 3}
    return hf.BeitForImageClassification(hf.BeitConfig(**SIGHT, **more, vocab_size=VOCAB))


def nemotron():
    return hf.NemotronForCausalLM(hf.NemotronConfig(**SIZES, num_key_value_heads=2, head_dim=4))


def olmo():
    return hf.OlmoForCausalLM(hf.OlmoConfig(**SIZES, num_key_value_heads=1))


def phi():
    return hf.PhiForCausalLM(hf.PhiConfig(**SIZES))


def persimmon():
    return hf.PersimmonForCausalLM(hf.PersimmonConfig(**SIZES))


def codegen():
    sizes = {"vocab_size": VOCAB, "n_embd": DIM, "n_head": 4, "n_layer": 1, "n_positions": SEQ, "n_ctx": SEQ}
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return hf.CodeGenForCausalLM(hf.CodeGenConfig(**sizes, **drops, rotary_dim=2))


clip_single, clip_ddp = single(clip, classified), ddp(clip, classified)
clip_ddp_scaled = ddp(clip, classified, scale=0.5)
roberta_single, roberta_ddp, roberta_ddp_scaled = (
    single(roberta, typed("roberta"), inputs=unpadded), ddp(roberta, typed("roberta"), inputs=unpadded),
    ddp(roberta, typed("roberta"), inputs=unpadded, scale=0.5),
)  # fmt: skip
albert_single, albert_ddp, albert_ddp_scaled = (
    single(albert, typed("albert")), ddp(albert, typed("albert")), ddp(albert, typed("albert"), scale=0.5),
)  # fmt: skip
electra_single, electra_ddp, electra_ddp_scaled = (
    single(electra, typed("electra")), ddp(electra, typed("electra")), ddp(electra, typed("electra"), scale=0.5),
)  # fmt: skip
olmoe_single, olmoe_ddp = single(olmoe, inputs=shifted), ddp(olmoe, inputs=shifted)
olmoe_ddp_scaled = ddp(olmoe, inputs=shifted, scale=0.5)
qwen2_moe_single, qwen2_moe_ddp = single(qwen2_moe, inputs=shifted), ddp(qwen2_moe, inputs=shifted)
qwen2_moe_ddp_scaled = ddp(qwen2_moe, inputs=shifted, scale=0.5)
convnext_single, convnext_ddp = single(convnext, inputs=images), ddp(convnext, inputs=images)
convnext_ddp_scaled = ddp(convnext, inputs=images, scale=0.5)
beit_single, beit_ddp, beit_ddp_scaled = (
    single(beit, inputs=images), ddp(beit, inputs=images), ddp(beit, inputs=images, scale=0.5),
)  # fmt: skip
nemotron_single, nemotron_ddp, nemotron_ddp_scaled = single(nemotron), ddp(nemotron), ddp(nemotron, scale=0.5)
olmo_single, olmo_fsdp2, olmo_fsdp2_without_root = single(olmo), fsdp2(olmo, decoder), fsdp2(olmo, decoder, root=False)
phi_single, phi_ddp, phi_ddp_scaled = single(phi), ddp(phi), ddp(phi, scale=0.5)
persimmon_single, persimmon_ddp, persimmon_ddp_scaled = single(persimmon), ddp(persimmon), ddp(persimmon, scale=0.5)
codegen_single, codegen_ddp, codegen_ddp_scaled = single(codegen), ddp(codegen), ddp(codegen, scale=0.5)
