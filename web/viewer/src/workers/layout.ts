/** Lays out the graph of a lineage in a worker, so that a large one does not stop the page. */

import { graphlib, layout } from "@dagrejs/dagre";

export interface LayoutRequest {
  id: number;
  nodes: { id: string; width: number; height: number }[];
  edges: { from: string; to: string }[];
}

export interface LayoutReply {
  id: number;
  width: number;
  height: number;
  nodes: { id: string; x: number; y: number }[];
  edges: { from: string; to: string; points: { x: number; y: number }[] }[];
}

addEventListener("message", (event: MessageEvent<LayoutRequest>) => {
  const { id, nodes, edges } = event.data;
  try {
    const graph = new graphlib.Graph({ multigraph: false });
    graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 46, marginx: 20, marginy: 20, ranker: nodes.length > 400 ? "longest-path" : "network-simplex" });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
    for (const edge of edges) graph.setEdge(edge.from, edge.to);
    layout(graph);
    const size = graph.graph() as { width?: number; height?: number };
    const reply: LayoutReply = {
      id, width: size.width ?? 0, height: size.height ?? 0,
      nodes: graph.nodes().map((name) => ({ id: name, x: graph.node(name).x as number, y: graph.node(name).y as number })),
      edges: graph.edges().map((edge) => ({ from: edge.v, to: edge.w, points: (graph.edge(edge) as { points: { x: number; y: number }[] }).points })),
    };
    postMessage(reply);
  } catch (error) {
    postMessage({ id, problem: error instanceof Error ? error.message : String(error) });
  }
});
