// Times the spring bones of three-vrm on the scenes of tests/bench/bench_chains.c, one step at 60 Hz.
//
//     node bench.js [SCENE...]      prints {"program", "version", "scenes": [{"scene", "joints",
//                                   "steps", "ns_per_joint_step"}]}, the median of five runs
//
// A scene CxJ has C chains of J simulated joints (J + 1 nodes, 5 cm apart, hanging) whose roots stand
// on a circle of 12 cm about a moving head; with "+10" ten capsules are tested by every chain.
import { readFileSync } from "node:fs";
import * as THREE from "three";
import {
  VRMSpringBoneCollider,
  VRMSpringBoneColliderShapeCapsule,
  VRMSpringBoneJoint,
  VRMSpringBoneManager,
} from "@pixiv/three-vrm-springbone";

const SCENES = {
  "1000x8+10": { chains: 1000, joints: 8, capsules: 10 },
  "12x8+10": { chains: 12, joints: 8, capsules: 10 },
  "1000x8": { chains: 1000, joints: 8, capsules: 0 },
  "12x8": { chains: 12, joints: 8, capsules: 0 },
};
const DT = 1 / 60;
const LINK = 0.05;

function makeCapsules(head, count) {
  const colliders = [];
  for (let i = 0; i < count; i++) {
    const angle = (2 * Math.PI * i) / count;
    const x = Math.cos(angle);
    const z = Math.sin(angle);
    const shape = new VRMSpringBoneColliderShapeCapsule({
      radius: 0.04,
      offset: new THREE.Vector3(0.06 * x, -0.1, 0.06 * z),
      tail: new THREE.Vector3(0.09 * x, -0.3, 0.09 * z),
    });
    const collider = new VRMSpringBoneCollider(shape);
    head.add(collider);
    colliders.push(collider);
  }
  return colliders;
}

function makeScene({ chains, joints, capsules }) {
  const root = new THREE.Object3D();
  const head = new THREE.Object3D();
  root.add(head);
  head.position.set(0, 1.5, 0);
  const colliderGroups = capsules ? [{ colliders: makeCapsules(head, capsules) }] : [];
  const manager = new VRMSpringBoneManager();
  const settings = {
    hitRadius: 0.01,
    stiffness: 1,
    gravityPower: 0.2,
    gravityDir: new THREE.Vector3(0, -1, 0),
    dragForce: 0.4,
  };
  const bones = [];
  for (let c = 0; c < chains; c++) {
    const angle = (2 * Math.PI * c) / chains;
    let parent = head;
    const chain = [];
    for (let j = 0; j <= joints; j++) {
      const bone = new THREE.Bone();
      if (j === 0) bone.position.set(0.12 * Math.cos(angle), 0.05, 0.12 * Math.sin(angle));
      else bone.position.set(0, -LINK, 0);
      parent.add(bone);
      chain.push(bone);
      parent = bone;
    }
    bones.push(chain);
  }
  root.updateMatrixWorld(true);
  for (const chain of bones)
    for (let j = 0; j < joints; j++)
      manager.addJoint(new VRMSpringBoneJoint(chain[j], chain[j + 1], settings, colliderGroups));
  manager.setInitState();
  return { root, head, manager, count: chains * joints };
}

function step(scene, tick) {
  const t = tick * DT;
  scene.root.position.x = 0.1 * Math.sin(6 * t);
  scene.root.quaternion.set(0, 0.2 * Math.sin(4 * t), 0, 1).normalize();
  scene.manager.update(DT);
}

function measure(name) {
  const scene = makeScene(SCENES[name]);
  const steps = Math.max(30, Math.ceil(240000 / scene.count));
  let tick = 0;
  const runs = [];
  for (let run = 0; run < 6; run++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < steps; i++) step(scene, tick++);
    const seconds = Number(process.hrtime.bigint() - start);
    if (run > 0) runs.push(seconds / (steps * scene.count));
  }
  runs.sort((a, b) => a - b);
  return { scene: name, joints: scene.count, steps, ns_per_joint_step: Math.round(runs[2] * 10) / 10 };
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SCENES);
const version = JSON.parse(
  readFileSync(new URL("./node_modules/@pixiv/three-vrm-springbone/package.json", import.meta.url)),
).version;
console.log(
  JSON.stringify({
    program: "@pixiv/three-vrm-springbone",
    version,
    node: process.version,
    scenes: names.map(measure),
  }),
);
