"""Transformer blocks in two hands: nn.MultiheadAttention, and attention written out."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench.layers import activation
from bench.faultbench.recipe import Style


class WrittenAttention(nn.Module):
    """softmax(q kᵀ / sqrt(d)) v with one map for q, k and v."""

    def __init__(self, width: int, heads: int, causal: bool, style: Style) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.heads, self.causal = heads, causal
        self.scale = style.extra.get("attention_scale", 1.0)
        self.fused = style.naming == 4 and self.scale == 1.0

    def forward(self, x: Tensor) -> Tensor:
        count, length, width = x.shape
        parts = self.qkv(x).view(count, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        if self.fused:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        else:
            scores = query @ key.transpose(-2, -1) * (self.scale / math.sqrt(width // self.heads))
            if self.causal:
                mask = torch.ones(length, length, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(mask, -math.inf)
            mixed = scores.softmax(-1) @ value
        return self.proj(mixed.transpose(1, 2).reshape(count, length, width))


class LibraryAttention(nn.Module):
    """nn.MultiheadAttention with a mask."""

    def __init__(self, width: int, heads: int, causal: bool, style: Style) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(width, heads, batch_first=True)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if self.causal else None
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


class Block(nn.Module):
    """Attention and feed-forward with residuals; norm first, or after (``style.extra["post_norm"]``)."""

    def __init__(self, style: Style, heads: int, causal: bool) -> None:
        super().__init__()
        width = style.width
        self.style = style
        written = style.naming % 2 == 0 or "attention_scale" in style.extra
        self.attn = (WrittenAttention if written else LibraryAttention)(width, heads, causal, style)
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.act = activation(style)
        self.drop = nn.Dropout(style.dropout)

    def feed(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))

    def forward(self, x: Tensor) -> Tensor:
        if self.style.extra.get("post_norm"):
            x = self.ln1(x + self.drop(self.attn(x)))
            return self.ln2(x + self.drop(self.feed(x)))
        x = x + self.drop(self.attn(self.ln1(x)))
        return x + self.drop(self.feed(self.ln2(x)))


class Trunk(nn.Module):
    """``blocks`` and a last norm."""

    def __init__(self, style: Style, heads: int, causal: bool) -> None:
        super().__init__()
        self.style = style
        self.blocks = nn.ModuleList(Block(style, heads, causal) for _ in range(style.depth))
        self.norm = nn.LayerNorm(style.width)

    def forward(self, x: Tensor) -> Tensor:
        for index, block in enumerate(self.blocks):
            if index != self.style.skip:
                x = block(x)
        return self.norm(x)


TRUNK_KNOBS = frozenset({"dropout", "width", "depth", "skip", "attention_scale"})
ATTENTION_RATES = {"momentum": 0.05, "adam": 3e-3, "adamw": 3e-3, "rmsprop": 1e-3}
