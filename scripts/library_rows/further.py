"""Libraries of models and losses: image models, graphs, pairs of images and texts, decoders."""

from scripts.library_rows import Library, Row

TWICE = "the loss is divided by the ranks again"
VISION, GRAPHS, LOSSES = "timm/vision.py", "torch_geometric/graphs.py", "open_clip/losses.py"
DECODER = "x_transformers/decoder.py"

FURTHER = (
    Library(
        "timm",
        "1.0.31",
        ("torchvision==0.28.0", "timm==1.0.31"),
        (
            Row("ViT, DDP", VISION, "vit_ddp", "vit_ddp", "vit_ddp_scaled", TWICE),
            Row("MLP-Mixer, FSDP2", VISION, "mixer_fsdp2", "mixer_fsdp2", "mixer_fsdp2_scaled", TWICE),
        ),
    ),
    Library(
        "torch_geometric",
        "2.8.1",
        ("torch_geometric==2.8.1",),
        (
            Row("GATConv, graphs of a batch joined, DDP", GRAPHS, "gat_ddp", "gat_ddp", "gat_ddp_scaled", TWICE),
            Row("GCNConv, edges that are data, DDP", GRAPHS, "gcn_ddp", "gcn_ddp", "gcn_alone",
                "without DDP: nobody reduces the gradients", tensors="live"),
            Row("TransformerConv, graphs of a batch joined, DDP", GRAPHS, "transformer_ddp", "transformer_ddp",
                "transformer_ddp_scaled", TWICE),
        ),
    ),
    Library(
        "open_clip",
        "3.3.0",
        ("torchvision==0.28.0", "open_clip_torch==3.3.0"),
        (
            Row("`ClipLoss`, local and gathered with gradients, DDP", LOSSES, "clip_ddp", "clip_ddp",
                "clip_ddp_no_grad", "`gather_with_grad` is not set"),
            Row("`SigLipLoss`, features go around, DDP", LOSSES, "siglip_ddp", "siglip_ddp", "siglip_ddp_alone",
                "it is not told which rank it is, of how many"),
        ),
    ),
    Library(
        "x-transformers",
        "2.31.10",
        ("x-transformers==2.31.10",),
        (Row("a decoder, DDP", DECODER, "build_ddp", "build_ddp", "build_ddp_scaled", TWICE),),
    ),
)  # fmt: skip
