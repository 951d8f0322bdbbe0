"""Default sizes of the config classes of transformers 5.22.2, which nested configs often leave out.

Columns: layers, hidden size, heads, head dim (0: hidden size / heads), max_position_embeddings
(0: none).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Sizes(NamedTuple):
    """Default sizes of a config class."""

    layers: int
    hidden: int
    heads: int
    head_dim: int
    length: int


_TABLE = """
afmoe 32 2048 16 128 16384
apertus 32 4096 32 0 65536
arcee 32 2560 32 0 4096
aria_text 32 4096 32 0 2048
axk1 61 7168 64 0 32768
axk2 48 2048 32 64 131072
bailing_hybrid 42 2560 32 128 262144
bamba 32 4096 32 0 262144
beam 52 5120 48 128 8192
bitnet 30 2560 20 0 2048
blt_global_transformer 25 2048 16 0 4096
blt_local_decoder 9 1024 16 0 24576
blt_patcher 14 768 12 0 8192
chameleon 32 4096 32 0 4096
cohere 40 8192 64 0 8192
cohere2 40 8192 64 0 8192
cohere2_moe 40 8192 64 128 8192
cosmos3_edge_text 28 2048 16 128 131072
csm 16 2048 32 0 2048
csm_depth_decoder_model 4 1024 8 0 33
cwm 64 6144 48 128 131072
dbrx 24 2048 16 0 2048
deepseek_ocr2_text 32 4096 32 0 2048
deepseek_v2 32 4096 32 0 2048
deepseek_v3 61 7168 128 0 4096
deepseek_v32 61 7168 128 64 163840
deepseek_v4 43 4096 64 512 1048576
dia_decoder 18 2048 16 128 3072
diffllama 16 2048 32 0 2048
diffusion_gemma_text 30 2304 8 256 131072
doge 32 1024 8 0 2048
dots1 62 4608 32 0 2048
embedding_gemma2_text 24 512 4 256 262144
emu3_text_model 32 4096 32 0 9216
ernie4_5 18 1024 16 128 131072
ernie4_5_moe 28 2560 20 0 131072
ernie4_5_vl_moe_text 28 2560 20 0 131072
esm 12 768 12 0 1026
esmc 80 2560 40 0 2048
eurobert 12 768 12 0 8192
evolla 32 4096 32 0 8192
exaone4 32 4096 32 0 2048
exaone_moe 32 4096 32 0 2048
falcon 32 4544 71 0 2048
falcon_h1 32 4096 32 0 8192
flex_olmo 32 4096 32 0 4096
flint 49 2048 32 128 262144
gemma 28 3072 16 256 8192
gemma2 26 2304 8 256 8192
gemma3_text 26 2304 8 256 131072
gemma3n_text 35 2048 8 256 32768
gemma4_text 30 2304 8 256 131072
gemma4_unified_text 30 2304 8 256 262144
glm 40 4096 32 128 131072
glm4 40 4096 32 128 131072
glm4_moe 46 4096 96 0 131072
glm4_moe_lite 47 2048 20 0 202752
glm4v_moe_text 46 4096 96 0 65536
glm4v_text 40 4096 32 0 32768
glm_image_text 40 4096 32 0 131072
glm_moe_dsa 78 6144 64 64 202752
glm_ocr_text 16 1024 16 0 131072
gpt_neox 44 6144 64 0 2048
gpt_neox_japanese 32 2560 32 0 2048
gpt_oss 36 2880 64 64 131072
gradium_phonon_tts 6 768 12 0 8192
granite 32 4096 32 0 2048
granite_swa 24 2560 20 0 8192
granitemoe 32 4096 32 0 2048
granitemoe_swa 32 4096 32 0 2048
granitemoehybrid 32 4096 32 0 2048
granitemoeshared 32 4096 32 0 2048
gte 12 768 12 0 8192
helium 24 2560 20 128 4096
higgs_audio_v2 28 3072 24 128 2048
hrm_text 128 1536 12 128 2048
hunyuan_v1_dense 32 4096 32 0 2048
hunyuan_v1_moe 32 4096 32 0 2048
hy_v3 80 4096 64 128 131072
hy_v4 34 2816 32 256 262144
hyperclovax 32 4096 32 0 2048
idefics 32 4096 32 0 2048
jais2 32 3328 26 0 8192
jetmoe 12 2048 32 0 4096
jina_embeddings_v3 24 1024 16 0 8194
kolibri1 50 2560 48 128 262144
kyutai_speech_to_text 48 2048 32 0 750
laguna 40 2048 48 128 131072
lfm2 32 2560 32 0 128000
lfm2_moe 32 2048 32 0 128000
llama 32 4096 32 0 2048
llama4_text 48 5120 40 128 131072
longcat_flash 56 6144 64 64 131072
mellum 28 2304 32 128 131072
mimi 8 512 8 0 8000
mimo_v2_flash 48 4096 64 192 131072
minicpm3 62 2560 40 0 32768
minimax 32 4096 32 0 131072
minimax_m2 62 3072 48 128 196608
minimax_m3_vl_text 60 6144 64 128 524288
ministral 32 4096 32 0 131072
ministral3 34 4096 32 128 262144
mistral 32 4096 32 0 131072
mistral4 36 4096 32 0 1048576
mistral_large4_text 72 6144 64 64 1048576
mixtral 32 4096 32 0 131072
mllama_text_model 40 4096 32 0 131072
modernbert 22 768 12 0 8192
modernbert-decoder 22 768 12 0 8192
molmo2_text 36 4096 32 128 36864
moonshine 6 288 8 0 512
moonshine_streaming 6 320 8 0 4096
moshi 32 4096 32 0 3000
muse_glimmer_assistant 5 6656 32 128 131072
muse_glimmer_text 52 6656 32 128 131072
muse_spark_text 62 8192 128 64 1048576
nanochat 12 768 6 0 2048
nemotron 32 6144 48 0 4096
nomic_bert 12 768 12 0 2048
olmo 32 4096 32 0 2048
olmo2 32 4096 32 0 2048
olmo3 32 4096 32 0 2048
olmo_hybrid 32 3840 30 0 65536
olmoe 16 2048 16 0 4096
openai_privacy_filter 8 640 14 64 131072
paddleocr_vl_text 18 1024 16 128 131072
persimmon 36 4096 64 0 16384
phi 24 2048 32 0 2048
phi3 32 3072 32 0 4096
phi4_multimodal 32 3072 32 0 131072
phimoe 32 4096 32 0 131072
pocket_tts 6 1024 16 0 8192
qwen2 32 4096 32 0 32768
qwen2_5_omni_talker 28 3584 28 128 32768
qwen2_5_omni_text 28 3584 28 0 32768
qwen2_5_vl_text 80 8192 64 0 32768
qwen2_moe 24 2048 16 0 32768
qwen2_vl_text 80 8192 64 0 32768
qwen3 32 4096 32 128 32768
qwen3_5_moe_text 40 2048 16 256 32768
qwen3_5_text 32 4096 16 256 32768
qwen3_moe 24 2048 32 0 32768
qwen3_next 48 2048 16 256 32768
qwen3_omni_moe_talker_code_predictor 5 1024 16 128 32768
qwen3_omni_moe_talker_text 20 1024 16 0 32768
qwen3_vl_moe_text 24 2048 16 0 128000
qwen3_vl_text 32 4096 32 128 128000
recurrent_gemma 26 2560 10 0 0
seed_oss 64 4096 80 128 524288
smollm3 36 2048 16 0 32768
solar_open 48 4096 64 128 131072
stablelm 32 2560 32 0 4096
starcoder2 30 3072 24 0 4096
step3p5 45 4096 64 128 128000
t5_gemma_module 26 2304 8 256 8192
t5gemma2_decoder 26 2304 8 256 131072
t5gemma2_text 26 2304 8 256 131072
ultrabert 32 4096 32 0 32768
unlimited_ocr_text 12 1280 10 0 32768
vaultgemma 26 2304 8 256 8192
youtu 32 2048 16 0 131072
zamba2 54 2560 32 0 4096
zaya 40 2048 8 128 131072
gptj 28 4096 16 0 2048
codegen 28 4096 16 0 2048
roformer 12 768 12 0 1536
"""

SIZES: Mapping[str, Sizes] = MappingProxyType(
    {row.split()[0]: Sizes(*map(int, row.split()[1:])) for row in _TABLE.strip().splitlines()}
)
"""The default sizes of each model type that rotates."""
