"""Tables and figures of the source documents: ours | paper | difference."""
