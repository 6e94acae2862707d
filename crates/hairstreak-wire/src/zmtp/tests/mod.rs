//! Tests of the ZMTP modules.
