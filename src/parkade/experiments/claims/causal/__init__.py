"""The claims of the paper: Karagodin, Polyanskiy, Rigollet, 2024."""
