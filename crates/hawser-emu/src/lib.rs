//! Network namespaces and user-space links around any program.
