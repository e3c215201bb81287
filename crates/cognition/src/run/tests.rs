mod behaviour;
mod folding;
mod threads;
mod world;
