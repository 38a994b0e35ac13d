"""Claims of other papers on attention as a flow."""
