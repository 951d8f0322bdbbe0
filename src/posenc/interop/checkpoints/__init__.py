"""Convert a checkpoint from one channel pairing of RoPE to the other, and prove it."""
