/** Views of nodes, worked out once for a program. */
import type {Node} from '../../graph/node.js';
import type {StridedView, TableView} from './view.js';
import {stridedView, tableView} from './view.js';

export class Views {
  private readonly strided = new Map<Node, StridedView>();
  private readonly tables = new Map<Node, TableView>();

  of(node: Node): StridedView {
    let view = this.strided.get(node);
    if (view === undefined) this.strided.set(node, (view = stridedView(node)));
    return view;
  }

  table(node: Node<'gather'>): TableView {
    let view = this.tables.get(node);
    if (view === undefined) this.tables.set(node, (view = tableView(node.attributes.table, node.shape)));
    return view;
  }
}
