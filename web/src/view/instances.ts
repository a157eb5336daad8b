// Instanced drawing: one draw call for all meshes of one shape and one material. The meshes themselves are not drawn:
// they are used for picking and have the bodies' poses.
import { DynamicDrawUsage, Group, InstancedMesh, type Material, type Mesh } from 'three';

interface Batch {
  drawn: InstancedMesh;
  room: number;
}

export class Instances {
  readonly root = new Group();
  private readonly known = new Map<string, Batch>();

  // Builds the batches, after shapes or materials changed; matrices are set afterwards.
  lay(meshes: Iterable<Mesh>): void {
    const shares = new Map<string, Mesh[]>();
    for (const mesh of meshes) {
      const key = `${mesh.geometry.uuid} ${(mesh.material as Material).uuid}`;
      const share = shares.get(key);
      if (share) share.push(mesh);
      else shares.set(key, [mesh]);
    }
    for (const [key, batch] of this.known) if (!shares.has(key)) this.drop(key, batch);
    for (const [key, share] of shares) this.fill(this.batch(key, share), share);
  }

  private batch(key: string, share: readonly Mesh[]): Batch {
    const found = this.known.get(key);
    if (found && found.room >= share.length) return found;
    if (found) this.drop(key, found);
    const room = 2 ** Math.ceil(Math.log2(share.length));
    const drawn = new InstancedMesh(share[0]!.geometry, share[0]!.material, room);
    drawn.instanceMatrix.setUsage(DynamicDrawUsage);
    drawn.frustumCulled = false; // the instances are spread over the whole scene
    this.root.add(drawn);
    const made = { drawn, room };
    this.known.set(key, made);
    return made;
  }

  private fill({ drawn }: Batch, share: readonly Mesh[]): void {
    drawn.count = share.length;
    share.forEach((mesh, i) => {
      mesh.userData.drawn = drawn;
      mesh.userData.at = 16 * i;
      this.put(mesh);
    });
  }

  private drop(key: string, { drawn }: Batch): void {
    this.root.remove(drawn);
    drawn.dispose();
    this.known.delete(key);
  }

  // Sets the matrix of one mesh after a change; allocates nothing.
  put(mesh: Mesh): void {
    const drawn = mesh.userData.drawn as InstancedMesh | undefined;
    if (!drawn) return;
    mesh.matrixWorld.toArray(drawn.instanceMatrix.array, mesh.userData.at as number);
    drawn.instanceMatrix.needsUpdate = true;
  }
}
