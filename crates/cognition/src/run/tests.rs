mod behaviour;
mod folding;
mod world;
