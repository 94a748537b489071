//! Paths: life cycle, validation, connection ids, MTU.
