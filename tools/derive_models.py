#!/usr/bin/env python3
"""Write models/catalogue/model/*.json from the published architectures.

Development only: the files are checked in, and neither the build nor the tests need
this. Run from the repository root. Per layer and sample it derives

  flops   multiply-adds of convolutions and matrix products, each counted as two
  moved   activation elements that the forward kernels read and write
  saved   activation elements kept for backward, and bytes that no precision changes

`--check FILE` compares every tensor with {"model": [{"name": ..., "numel": ...}]}.
"""
import argparse
import json
import math
import os

ROOT = "models/catalogue/model"

INT64_B = 8  # indices of max-pooling
FP32_B = 4
MASK_B = 1   # dropout mask

DLE = "NVIDIA/DeepLearningExamples@729963dd47e7, "


# ---- writing -------------------------------------------------------------------------

def text(value):
    return json.dumps(value, ensure_ascii=False)


def number(value):
    return int(value) if float(value).is_integer() else value


def shaped(shape):
    return {"values": math.prod(shape), "shape": list(shape)}


def layer(name, tensors=None, **terms):
    """With one tensor of its own, whose shape is given, or with several that have names."""
    out = {"name": name}
    for key, value in terms.items():
        if value:
            out[key] = number(value)
    if tensors and isinstance(tensors[0], int):
        out.update(shaped(tensors))
    elif tensors:
        out["tensors"] = [{"name": n, **shaped(shape)} for n, shape in tensors]
    return out


def group(name, layers, repeat=1, first=0):
    out = {}
    if repeat > 1:
        out["repeat"] = repeat
    if first:
        out["first"] = first
    out["name"] = name
    out["layers"] = layers
    return out


def lines_of(item, indent):
    pad = "  " * indent
    if "layers" not in item:
        return [pad + text(item)]
    head = ", ".join(f"{text(k)}: {text(v)}" for k, v in item.items() if k != "layers")
    out = [pad + "{" + head + ', "layers": [']
    children = [lines_of(child, indent + 1) for child in item["layers"]]
    for i, child in enumerate(children):
        child[-1] += "," if i + 1 < len(children) else ""
        out += child
    return out + [pad + "]}"]


def write(model):
    out = ["{"]
    for key in ("name", "sample", "source", "sequence", "max_sequence"):
        if key in model:
            out.append(f"  {text(key)}: {text(model[key])},")
    out.append('  "layers": [')
    for i, item in enumerate(model["layers"]):
        part = lines_of(item, 2)
        part[-1] += "," if i + 1 < len(model["layers"]) else ""
        out += part
    out.append("  ],")
    out.append('  "baselines": [')
    rows = [text(row) for row in model.get("baselines", [])]
    out += ["    " + row + ("," if i + 1 < len(rows) else "") for i, row in enumerate(rows)]
    out += ["  ]", "}"]
    with open(f"{ROOT}/{model['name']}.json", "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


# ---- reading back, for the checks ----------------------------------------------------

def tensors_of(items, prefix=""):
    for item in items:
        for i in range(item.get("repeat", 1)):
            name = prefix + item["name"].replace("{i}", str(i + item.get("first", 0)))
            if "layers" in item:
                yield from tensors_of(item["layers"], name + ".")
            elif "values" in item:
                yield name, item["values"]
            for tensor in item.get("tensors", []):
                yield name + "." + tensor["name"], tensor["values"]


def total(items, key):
    return sum(item.get("repeat", 1) * (total(item["layers"], key) if "layers" in item
                                        else item.get(key, 0)) for item in items)


# ---- convolutional networks ----------------------------------------------------------
# PyTorch's eager kernels: ReLU in place, batch normalisation in training mode.

BN_PASSES = 3    # reads its input twice (statistics, normalise), writes once
RELU_PASSES = 2  # in place: reads and writes
ADD_PASSES = 3   # reads both, writes one


class Image:
    """The activation that a network of layers is working on."""

    def __init__(self, channels, size):
        self.channels, self.size = channels, size

    def values(self):
        return self.channels * self.size ** 2


def conv(name, x, out_channels, kernel, stride=1, pad=None, bias=False, saves_input=True,
         relu=False):
    pad = kernel // 2 if pad is None else pad
    size = (x.size + 2 * pad - kernel) // stride + 1
    y = Image(out_channels, size)
    shape = (out_channels, x.channels, kernel, kernel)
    weight = math.prod(shape)
    tensors = [("weight", shape)] + ([("bias", [out_channels])] if bias else [])
    row = layer(name, tensors, flops=2 * weight * size ** 2,
                moved=x.values() + y.values() * (1 + (RELU_PASSES if relu else 0)),
                saved=(x.values() if saves_input else 0))
    return row, y


def norm(name, x, relu=True, add=False):
    """Batch normalisation, then the residual sum and ReLU where the block has them."""
    passes = BN_PASSES + (RELU_PASSES if relu else 0) + (ADD_PASSES if add else 0)
    return layer(name, [("weight", [x.channels]), ("bias", [x.channels])],
                 moved=passes * x.values(), saved=x.values())


def max_pool(name, x, kernel, stride, pad=0):
    """Saves its input (the in-place ReLU before it needs it too) and int64 indices."""
    y = Image(x.channels, (x.size + 2 * pad - kernel) // stride + 1)
    return layer(name, moved=x.values() + y.values(), saved=x.values(),
                 saved_bytes=INT64_B * y.values()), y


def linear(name, n_in, n_out, relu=False, dropout=False):
    """Saves its input; a dropout before it keeps its own input and a mask."""
    return layer(name, [("weight", [n_out, n_in]), ("bias", [n_out])], flops=2 * n_in * n_out,
                 moved=n_in * (3 if dropout else 1) + n_out * (3 if relu else 1),
                 saved=n_in, saved_bytes=MASK_B * n_in if dropout else 0)


def bottleneck(name, x, width, stride, downsample, repeat=1, first=0):
    rows = []
    row, y = conv("conv1", x, width, 1)
    rows += [row, norm("bn1", y)]
    row, y = conv("conv2", y, width, 3, stride)
    rows += [row, norm("bn2", y)]
    row, y = conv("conv3", y, 4 * width, 1)
    rows += [row, norm("bn3", y, add=True)]
    if downsample:
        row, z = conv("downsample.0", x, 4 * width, 1, stride, saves_input=False)
        rows += [row, norm("downsample.1", z, relu=False)]
    return group(name, rows, repeat, first), y


def basic(name, x, width, stride, downsample, repeat=1, first=0):
    rows = []
    row, y = conv("conv1", x, width, 3, stride)
    rows += [row, norm("bn1", y)]
    row, y = conv("conv2", y, width, 3)
    rows += [row, norm("bn2", y, add=True)]
    if downsample:
        row, z = conv("downsample.0", x, width, 1, stride, saves_input=False)
        rows += [row, norm("downsample.1", z, relu=False)]
    return group(name, rows, repeat, first), y


def resnet(name, block, blocks, baselines=()):
    x = Image(3, 224)
    row, x = conv("conv1", x, 64, 7, 2, 3)
    rows = [row, norm("bn1", x)]
    row, x = max_pool("maxpool", x, 3, 2, 1)
    rows.append(row)
    for stage, count in enumerate(blocks):
        width, stride = 64 << stage, 1 if stage == 0 else 2
        downsample = stride > 1 or block is bottleneck
        row, x = block(f"layer{stage + 1}.0", x, width, stride, downsample)
        rows.append(row)
        if count > 1:
            several = f"layer{stage + 1}.{{i}}"
            row, x = block(several, x, width, 1, False, count - 1, 1)
            rows.append(row)
    rows.append(layer("avgpool", moved=x.values(), saved=x.values()))
    rows.append(linear("fc", x.channels, 1000))
    return {
        "name": name,
        "sample": "image 224x224",
        "source": "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, in the "
                  "v1.5 variant of torchvision (stride in the 3x3 convolution); tensors are "
                  "torchvision's, FLOPs and activations derived from the layer shapes",
        "layers": rows,
        "baselines": list(baselines),
    }


def vgg16():
    x, rows, index = Image(3, 224), [], 0
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            row, x = conv(f"features.{index}", x, width, 3, bias=True, relu=True)
            rows.append(row)
            index += 2
        row, x = max_pool(f"features.{index}", x, 2, 2)
        rows.append(row)
        index += 1
    rows += [linear("classifier.0", x.values(), 4096, relu=True),
             linear("classifier.3", 4096, 4096, relu=True, dropout=True),
             linear("classifier.6", 4096, 1000, dropout=True)]
    return {
        "name": "vgg16",
        "sample": "image 224x224",
        "source": "Simonyan & Zisserman, Very Deep Convolutional Networks for Large-Scale Image "
                  "Recognition, ICLR 2015, configuration D; tensors are torchvision's, FLOPs "
                  "and activations derived from the layer shapes",
        "layers": rows,
    }


def alexnet():
    x, rows = Image(3, 224), []
    for index, width, kernel, stride, pad in ((0, 64, 11, 4, 2), (3, 192, 5, 1, 2),
                                              (6, 384, 3, 1, 1), (8, 256, 3, 1, 1),
                                              (10, 256, 3, 1, 1)):
        row, x = conv(f"features.{index}", x, width, kernel, stride, pad, bias=True, relu=True)
        rows.append(row)
        if index in (0, 3, 10):
            row, x = max_pool(f"features.{index + 2}", x, 3, 2)
            rows.append(row)
    rows += [linear("classifier.1", x.values(), 4096, relu=True, dropout=True),
             linear("classifier.4", 4096, 4096, relu=True, dropout=True),
             linear("classifier.6", 4096, 1000)]
    return {
        "name": "alexnet",
        "sample": "image 224x224",
        "source": "Krizhevsky, One weird trick for parallelizing convolutional neural networks, "
                  "arXiv:1404.5997; tensors are torchvision's, FLOPs and activations derived "
                  "from the layer shapes",
        "layers": rows,
    }


# ---- transformers --------------------------------------------------------------------
# Activations kept: Korthikanti et al., Reducing Activation Recomputation in Large
# Transformer Models, arXiv:2205.05198: s h (34 + 5 a s / h) bytes per layer and sample
# with 2-byte elements, of which 2 s h + a s^2 are dropout masks of one byte.

ATTENTION_PASSES = 6  # scores out, softmax in and out, dropout in and out, values in
GELU_PASSES = 2
DROPOUT_ADD_PASSES = 5  # dropout reads and writes, the sum reads two and writes one


def dense(name, weight, bias, n_in, n_out, **more):
    # GPT's Conv1D keeps the inputs first, torch.nn.Linear the outputs.
    shape = (n_in, n_out) if weight == "w" else (n_out, n_in)
    terms = {"flops_per_token": 2 * n_in * n_out, "moved_per_token": n_in + n_out}
    for key, value in more.items():
        terms[key] = terms.get(key, 0) + value
    return layer(name, [(weight, shape), (bias, [n_out])], **terms)


def layer_norm(name, weight, bias, h):
    return layer(name, [(weight, [h]), (bias, [h])], moved_per_token=2 * h, saved_per_token=h)


def attention(heads, h):
    return layer("attention", flops_per_token_pair=4 * h, moved_per_token=4 * h,
                 moved_per_token_pair=ATTENTION_PASSES * heads, saved_per_token_pair=2 * heads,
                 saved_bytes_per_token_pair=MASK_B * heads)


def bert(name, h, n_layers, heads, baselines):
    f, vocabulary, positions, types = 4 * h, 30522, 512, 2
    block = [
        dense("query", "weight", "bias", h, h, saved_per_token=2 * h),
        dense("key", "weight", "bias", h, h, saved_per_token=h),
        dense("value", "weight", "bias", h, h, saved_per_token=h),
        attention(heads, h),
        dense("attn_out", "weight", "bias", h, h, moved_per_token=DROPOUT_ADD_PASSES * h,
              saved_per_token=h, saved_bytes_per_token=MASK_B * h),
        layer_norm("attn_ln", "weight", "bias", h),
        dense("inter", "weight", "bias", h, f, moved_per_token=GELU_PASSES * f,
              saved_per_token=h + f),
        dense("out", "weight", "bias", f, h, moved_per_token=DROPOUT_ADD_PASSES * h,
              saved_per_token=f, saved_bytes_per_token=MASK_B * h),
        layer_norm("out_ln", "weight", "bias", h),
    ]
    return {
        "name": name,
        "sample": "sequence of {sequence} tokens",
        "source": "Devlin et al., BERT, NAACL 2019: encoder and pooler, without the heads of "
                  "pre-training; activations: Korthikanti et al., arXiv:2205.05198; FLOPs "
                  "derived from the matrix shapes",
        "sequence": 128,
        "max_sequence": positions,
        "layers": [
            layer("embeddings", [("word", [vocabulary, h]), ("position", [positions, h]),
                                 ("token_type", [types, h])], moved_per_token=8 * h),
            layer("embeddings.ln", [("weight", [h]), ("bias", [h])], moved_per_token=4 * h,
                  saved_per_token=h, saved_bytes_per_token=MASK_B * h),
            group("l{i}", block, n_layers),
            layer("pooler", [("weight", [h, h]), ("bias", [h])], flops=2 * h * h, moved=2 * h,
                  saved=2 * h),
        ],
        "baselines": baselines,
    }


def gpt(name, h, n_layers, heads, sequence, source):
    f, vocabulary = 4 * h, 50257
    block = [
        layer_norm("ln_1", "w", "b", h),
        dense("c_attn", "w", "b", h, 3 * h, saved_per_token=4 * h),
        attention(heads, h),
        dense("attn_proj", "w", "b", h, h, moved_per_token=DROPOUT_ADD_PASSES * h,
              saved_per_token=h, saved_bytes_per_token=MASK_B * h),
        layer_norm("ln_2", "w", "b", h),
        dense("fc", "w", "b", h, f, moved_per_token=GELU_PASSES * f, saved_per_token=h + f),
        dense("mlp_proj", "w", "b", f, h, moved_per_token=DROPOUT_ADD_PASSES * h,
              saved_per_token=f, saved_bytes_per_token=MASK_B * h),
    ]
    return {
        "name": name,
        "sample": "sequence of {sequence} tokens",
        "source": source + "; the output head shares the token embedding's tensor; activations: "
                  "Korthikanti et al., arXiv:2205.05198; FLOPs derived from the matrix shapes, "
                  "attention counted without the causal mask",
        "sequence": sequence,
        "max_sequence": sequence,
        "layers": [
            layer("wte", [vocabulary, h], moved_per_token=2 * h),
            layer("wpe", [sequence, h], moved_per_token=5 * h, saved_bytes_per_token=MASK_B * h),
            group("h{i}", block, n_layers),
            layer_norm("ln_f", "w", "b", h),
            # Logits are kept in fp32, whatever the precision (Korthikanti et al.).
            layer("lm_head", flops_per_token=2 * h * vocabulary,
                  moved_per_token=h + 3 * vocabulary, saved_per_token=h,
                  saved_bytes_per_token=FP32_B * vocabulary),
        ],
    }


def llama3(size, h, n_layers, heads, f):
    vocabulary, kv = 128256, 8 * (h // heads)
    rope = 2 * (h + kv)

    def matrix(name, n_in, n_out, **more):
        terms = {"flops_per_token": 2 * n_in * n_out, "moved_per_token": n_in + n_out}
        for key, value in more.items():
            terms[key] = terms.get(key, 0) + value
        return layer(name, [n_out, n_in], **terms)

    block = [
        matrix("wq", h, h, saved_per_token=2 * h),
        matrix("wk", h, kv, saved_per_token=kv),
        matrix("wv", h, kv, saved_per_token=kv),
        # Fused attention keeps one logarithm per head and token instead of the scores.
        layer("attention", flops_per_token_pair=4 * h, moved_per_token=2 * h + 2 * kv + rope,
              saved_bytes_per_token=FP32_B * heads),
        matrix("wo", h, h, moved_per_token=ADD_PASSES * h, saved_per_token=h),
        matrix("w1", h, f, saved_per_token=h + f),
        matrix("w3", h, f, saved_per_token=f),
        matrix("w2", f, h, moved_per_token=5 * f + ADD_PASSES * h, saved_per_token=2 * f),
        layer("attn_norm", [h], moved_per_token=2 * h, saved_per_token=h),
        layer("ffn_norm", [h], moved_per_token=2 * h, saved_per_token=h),
    ]
    return {
        "name": f"llama3_{size}",
        "sample": "sequence of {sequence} tokens",
        "source": "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 3; "
                  "activations derived for fused (flash) attention without recomputation; FLOPs "
                  "derived from the matrix shapes, attention counted without the causal mask",
        "sequence": 8192,
        "layers": [
            layer("tok_embeddings", [vocabulary, h], moved_per_token=2 * h),
            group("l{i}", block, n_layers),
            layer("norm", [h], moved_per_token=2 * h, saved_per_token=h),
            matrix("output", h, vocabulary, moved_per_token=2 * vocabulary, saved_per_token=h,
                   saved_bytes_per_token=FP32_B * vocabulary),
        ],
    }


# ---- what was measured on one GPU ----------------------------------------------------

def rate(gpu, precision, samples_per_s, source, sequence=None):
    row = {"gpu": gpu, "precision": precision, "samples_per_s": samples_per_s}
    if sequence:
        row["sequence"] = sequence
    row["source"] = DLE + source
    return row


PT_RESNET = "PyTorch/Classification/ConvNets/resnet50v1.5/README.md, "
MX_RESNET = "MxNet/Classification/RN50v1.5/README.md, "
TF_RESNET = "TensorFlow/Classification/ConvNets/resnet50v1.5/README.md, "
TF_BERT = "TensorFlow/LanguageModeling/BERT/README.md, pre-training, "
PT_BERT = "PyTorch/LanguageModeling/BERT/README.md, pre-training, "

RESNET50 = [
    rate("v100_sxm2_16gb", "fp32", 367, PT_RESNET + "DGX-1 16GB, 1 GPU"),
    rate("v100_sxm2_16gb", "amp", 1200, PT_RESNET + "DGX-1 16GB, 1 GPU"),
    rate("v100_sxm2_32gb", "fp32", 356, PT_RESNET + "DGX-1 32GB, 1 GPU"),
    rate("v100_sxm2_32gb", "amp", 1156, PT_RESNET + "DGX-1 32GB, 1 GPU"),
    rate("v100_sxm3_32gb", "fp32", 417, MX_RESNET + "DGX-2 32GB, 1 GPU"),
    rate("v100_sxm3_32gb", "amp", 1492, MX_RESNET + "DGX-2 32GB, 1 GPU"),
    rate("a100_sxm4_40gb", "tf32", 909, TF_RESNET + "XLA, DGX A100 40GB, 1 GPU"),
    rate("a100_sxm4_40gb", "amp", 2375, TF_RESNET + "XLA, DGX A100 40GB, 1 GPU"),
    rate("a100_sxm4_80gb", "tf32", 938, PT_RESNET + "DGX A100 80GB, 1 GPU"),
    rate("a100_sxm4_80gb", "amp", 2470, PT_RESNET + "DGX A100 80GB, 1 GPU"),
]

BERT_LARGE = [
    rate("v100_sxm2_16gb", "fp32", 39.43, TF_BERT + "DGX-1 16GB, 1 GPU, batch 8", 128),
    rate("v100_sxm2_16gb", "amp", 134.34, TF_BERT + "DGX-1 16GB, 1 GPU, batch 16", 128),
    rate("v100_sxm2_16gb", "fp32", 9.8, TF_BERT + "DGX-1 16GB, 1 GPU, batch 2", 512),
    rate("v100_sxm2_16gb", "amp", 28.72, TF_BERT + "DGX-1 16GB, 1 GPU, batch 4", 512),
    rate("v100_sxm2_32gb", "fp32", 46.78, TF_BERT + "DGX-1 32GB, 1 GPU, batch 32", 128),
    rate("v100_sxm2_32gb", "amp", 168.63, TF_BERT + "DGX-1 32GB, 1 GPU, batch 64", 128),
    rate("v100_sxm2_32gb", "fp32", 10.67, TF_BERT + "DGX-1 32GB, 1 GPU, batch 8", 512),
    rate("v100_sxm2_32gb", "amp", 31.23, TF_BERT + "DGX-1 32GB, 1 GPU, batch 8", 512),
    rate("v100_sxm3_32gb", "amp", 188.04, TF_BERT + "DGX-2 32GB, 1 GPU, batch 64", 128),
    rate("v100_sxm3_32gb", "fp32", 11.67, TF_BERT + "DGX-2 32GB, 1 GPU, batch 8", 512),
    rate("v100_sxm3_32gb", "amp", 35.32, TF_BERT + "DGX-2 32GB, 1 GPU, batch 8", 512),
    rate("a100_sxm4_40gb", "amp", 356.845, TF_BERT + "DGX A100 40GB, 1 GPU", 128),
    rate("a100_sxm4_80gb", "tf32", 317, PT_BERT + "DGX A100 80GB, 1 GPU, batch 128", 128),
    rate("a100_sxm4_80gb", "amp", 580, PT_BERT + "DGX A100 80GB, 1 GPU, batch 256", 128),
    rate("a100_sxm4_80gb", "tf32", 110, PT_BERT + "DGX A100 80GB, 1 GPU, batch 16", 512),
    rate("a100_sxm4_80gb", "amp", 210, PT_BERT + "DGX A100 80GB, 1 GPU, batch 32", 512),
]

GPT2 = "Radford et al., Language Models are Unsupervised Multitask Learners, 2019"
GPT3 = "Brown et al., Language Models are Few-Shot Learners, arXiv:2005.14165, table 2.1"


def models():
    yield alexnet()
    yield vgg16()
    yield resnet("resnet18", basic, (2, 2, 2, 2))
    yield resnet("resnet50", bottleneck, (3, 4, 6, 3), RESNET50)
    yield resnet("resnet101", bottleneck, (3, 4, 23, 3))
    yield resnet("resnet152", bottleneck, (3, 8, 36, 3))
    yield bert("bert_base", 768, 12, 12, [])
    yield bert("bert_large", 1024, 24, 16, BERT_LARGE)
    yield gpt("gpt2_small", 768, 12, 12, 1024, GPT2)
    yield gpt("gpt2_xl", 1600, 48, 25, 1024, GPT2)
    yield gpt("gpt3_175b", 12288, 96, 96, 2048, GPT3)
    yield llama3("8b", 4096, 32, 32, 14336)
    yield llama3("70b", 8192, 80, 64, 28672)
    yield llama3("405b", 16384, 126, 128, 53248)


def check(model, reference):
    ours = list(tensors_of(model["layers"]))
    theirs = [(t["name"], t["numel"]) for t in reference.get(model["name"], [])]
    if not theirs:
        return "no reference"
    if ours == theirs:
        return "equal"
    for i in range(max(len(ours), len(theirs))):
        if ours[i:i + 1] != theirs[i:i + 1]:
            return f"DIFFERS at {i}: {ours[i:i + 1]} against {theirs[i:i + 1]}"
    return "DIFFERS"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="FILE", help="reference tensor lists")
    args = parser.parse_args()
    reference = {}
    if args.check:
        with open(args.check, encoding="utf-8") as file:
            reference = json.load(file)
    os.makedirs(ROOT, exist_ok=True)
    for model in models():
        write(model)
        tensors = list(tensors_of(model["layers"]))
        saved_B = 4 * total(model["layers"], "saved") + total(model["layers"], "saved_bytes")
        print(f"{model['name']:12} {len(tensors):5} tensors {sum(v for _, v in tensors):>15,}"
              f" largest {max(v for _, v in tensors):>13,}"
              f" {total(model['layers'], 'flops') / 2e9:8.3f} GMAC"
              f" saved {saved_B / 2 ** 20:6.1f} MiB  {check(model, reference)}")
    assert math.isfinite(saved_B)


if __name__ == "__main__":
    main()
