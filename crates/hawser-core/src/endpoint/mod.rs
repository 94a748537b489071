//! Routing of datagrams to connections, and everything that needs no connection.
