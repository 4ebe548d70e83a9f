"""What of a model decides how much memory a sweep takes."""

from dataclasses import dataclass

from headcats.models.adapter import HookedModel
from headcats.models.hooks import keeps_logits
from headcats.models.placement import largest_offloaded, resident_bytes


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model that is loaded, or that is to be.

    Attributes:
        name: Of the model.
        weights: Bytes of its weights that have values all the time.
        loaded: Bytes of offloaded weights while they are used.
        number: Bytes of a number.
        layers: Layers with heads.
        max_heads: Heads of the layer with the most.
        d_z: Width of the outputs of all heads of a layer.
        d_kv: Width of keys, and of values.
        d_model: Width of the residual stream.
        d_hidden: Hidden units of an MLP that a token goes through, of all its experts.
        d_vocab: Token ids.
        is_bridge: Whether it is a TransformerBridge.
        keeps_logits: Whether it can give the logits of the last positions alone.
        streams: Residual streams that a recording keeps of a layer.
        n_patterns: Layers whose module keeps the attention pattern.
        on_cpu: Whether it computes on a CPU.
    """

    name: str
    weights: int
    loaded: int
    number: int
    layers: int
    max_heads: int
    d_z: int
    d_kv: int
    d_model: int
    d_hidden: int
    d_vocab: int
    is_bridge: bool
    keeps_logits: bool
    streams: int
    n_patterns: int
    on_cpu: bool

    @classmethod
    def of(cls, model: HookedModel) -> "Sizes":
        """Sizes of a loaded model."""
        cfg, bridge = model.model.cfg, model.model_class == "TransformerBridge"
        # None where it equals the number of query heads.
        kv_heads = getattr(cfg, "n_key_value_heads", None) or model.max_heads
        blocks = (model.model.blocks[layer] for layer in model.layers)
        experts = getattr(cfg, "experts_per_token", None) or 1
        return cls(
            name=model.name,
            weights=resident_bytes(model.model),
            loaded=largest_offloaded(model.model),
            number=model.dtype.itemsize,
            layers=len(model.layers),
            max_heads=model.max_heads,
            d_z=max(heads * model.d_head[layer] for layer, heads in model.n_heads.items()),
            d_kv=min(kv_heads, model.max_heads) * max(model.d_head.values()),
            d_model=model.d_model,
            d_hidden=(getattr(cfg, "d_mlp", None) or 4 * model.d_model) * experts,
            d_vocab=model.d_vocab,
            is_bridge=bridge,
            keeps_logits=keeps_logits(model.model),
            # What fresh rows of parallel blocks start from is no residual stream of the run.
            streams=2 if not bridge and cfg.parallel_attn_mlp else 1,
            n_patterns=sum(getattr(block.attn, "_pattern", None) is not None for block in blocks),
            on_cpu=model.device.type == "cpu",
        )
