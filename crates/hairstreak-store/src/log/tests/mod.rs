//! Tests of the log, without and with its threads: on a simulated directory that loses power, fails, hangs and rots, and on a real one.

mod damage;
mod files;
mod later;
mod power;
mod real_power;
mod space;
mod storage;
mod threads;
mod tools;
mod world;
