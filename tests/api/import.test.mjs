// Robot descriptions: what becomes of them at the command line and over REST, and what is refused.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { guideway, request, start } from "./server.mjs";

function convert(urdf, ...args) {
  const r = spawnSync(guideway, ["import", "-", ...args], { input: urdf, encoding: "utf8", timeout: 30000 });
  return { code: r.status, err: r.stderr, mechanism: r.status === 0 ? JSON.parse(r.stdout) : null };
}

const close = (a, b, tolerance, what) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${what ?? "value"}: ${a} is not ${b}`);
const all = (a, b, tolerance, what) => b.forEach((v, i) => close(a[i], v, tolerance, `${what} ${i}`));

const inertial = (mass, i, origin = "") =>
  `<inertial>${origin}<mass value="${mass}"/><inertia ixx="${i}" ixy="0" ixz="0" iyy="${i}" iyz="0" izz="${i}"/></inertial>`;
const joint = (name, type, from, to, inner = "") =>
  `<joint name="${name}" type="${type}"><parent link="${from}"/><child link="${to}"/>${inner}</joint>`;
const limit = '<limit lower="-1" upper="2" effort="10" velocity="1"/>';

const arm = `<?xml version="1.0"?>
<robot name="small arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="world"/>
  <link name="stand"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="upper">${inertial(2, 0.1, '<origin xyz="0.5 0 0" rpy="0 0 0"/>')}
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
    <collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
  </link>
  <link name="bracket">${inertial(2, 0.1)}</link>
  <link name="slide">${inertial(1, 0.05)}<visual><geometry><sphere radius="0.2"/></geometry></visual></link>
  <link name="tool"/>
  ${joint("bolt", "fixed", "world", "stand", '<origin xyz="0 0 1"/>')}
  ${joint("shoulder", "revolute", "stand", "upper", `<origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 2"/>${limit}<dynamics damping="0.3" friction="1"/>`)}
  ${joint("weld", "fixed", "upper", "bracket", '<origin xyz="1.5 0 0" rpy="0 0 0.7"/>')}
  ${joint("rail", "prismatic", "bracket", "slide", '<origin xyz="0 0 0.1"/><limit lower="0.2" upper="0.5" effort="1" velocity="1"/>')}
  ${joint("flange", "fixed", "slide", "tool", '<origin xyz="0 0 1"/>')}
  <gazebo reference="upper"><link name="none"/></gazebo>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>`;

test("a serial arm becomes a mechanism, fixed joints joined by the parallel-axis theorem", () => {
  const { mechanism: m } = convert(arm);
  assert.equal(m.id, "small_arm");
  assert.deepEqual(m.links.map((l) => [l.id, l.joint.type]), [["upper", "revolute"], ["slide", "prismatic"]]);
  const [upper, slide] = m.links;
  all(upper.joint.origin.p, [0, 0, 1.5], 1e-15, "origin");
  all(upper.joint.origin.q, [Math.SQRT1_2, 0, 0, Math.SQRT1_2], 1e-15, "turn");
  assert.deepEqual(upper.joint.axis, [0, 0, 1]);
  assert.deepEqual(upper.joint.limits, { lower: -1, upper: 2 });
  assert.equal(upper.joint.damping, 0.3);
  assert.equal(upper.joint.friction, 1);
  assert.equal(upper.joint.motor.max, 10);
  assert.equal(upper.joint.motor.speed, 1);
  assert.equal(upper.joint.motor.torque, 0);
  // 2 kg at 0.5 m and 2 kg at 1.5 m: 4 kg at 1 m, 0.2 + 2 x 2 x 0.5^2 across
  assert.equal(upper.mass, 4);
  all(upper.com, [1, 0, 0], 1e-15, "com");
  all(upper.inertia, [0.2, 1.2, 1.2, 0, 0, 0], 1e-14, "inertia");
  assert.equal(upper.mesh, "package://arm/upper.stl");
  assert.equal(upper.geometry.type, "compound");
  all(upper.geometry.parts[0].pose.p, [0.5, 0, 0], 1e-15, "part");
  all(slide.joint.origin.p, [1.5, 0, 0.1], 1e-15, "origin");
  assert.deepEqual(slide.joint.axis, [1, 0, 0]);
  assert.equal(slide.joint.position, 0.2);
  assert.deepEqual(slide.geometry, { type: "sphere", radius: 0.2 });
});

test("inertias are turned by rpy about the fixed axes x, y, z", () => {
  const { mechanism: m } = convert(`<robot name="r"><link name="a"/><link name="b"><inertial>
    <origin xyz="1 2 3" rpy="1.5707963267948966 0 1.5707963267948966"/><mass value="1"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
    ${joint("j", "continuous", "a", "b")}</robot>`);
  // x -> y, y -> z, z -> x
  all(m.links[0].inertia, [2.5, 1, 2, 0, 0, 0.1], 1e-14, "inertia");
  all(m.links[0].com, [1, 2, 3], 0, "com");
  assert.equal(m.links[0].joint.limits, undefined);
});

const two = (inner) => `<robot name="r"><link name="a"/><link name="b">${inertial(1, 1)}</link>${inner}</robot>`;

test("a tree asks for its tip, and what branches off is left out", () => {
  const tree = `<robot name="r"><link name="a"/>${["b", "c", "d"].map((n) => `<link name="${n}">${inertial(1, 1)}</link>`).join("")}
    <link name="frame"/>${joint("f", "fixed", "b", "frame")}
    ${joint("1", "continuous", "a", "b")}${joint("2", "continuous", "b", "c")}${joint("3", "continuous", "b", "d")}</robot>`;
  const asked = convert(tree);
  assert.equal(asked.code, 2);
  assert.match(asked.err, /branches into joint "2" and joint "3": name the tip/);
  assert.deepEqual(convert(tree, "--tip", "d").mechanism.links.map((l) => l.id), ["b", "d"]);
  assert.deepEqual(convert(tree, "--tip", "frame").mechanism.links.map((l) => l.id), ["b"]);
  assert.match(convert(tree, "--tip", "e").err, /no link "e"/);
});

const refused = [
  ["text that is no XML", "hello", /line 1: this is not well-formed XML/],
  ["another document", "<svg/>", /<svg> is not a robot description/],
  ["no links", '<robot name="r"/>', /no <link>/],
  ["nothing that moves", '<robot name="r"><link name="a"/></robot>', /no joint of it moves/],
  ["a link without a name", '<robot name="r"><link/></robot>', /line 1: <link> needs the attribute name/],
  ["words for numbers", two(joint("j", "revolute", "a", "b", '<limit lower="low" upper="1"/>')), /<limit lower="low">: 1 finite number is expected/],
  ["two numbers for three", two(joint("j", "continuous", "a", "b", '<origin xyz="1 2"/>')), /<origin xyz="1 2">: 3 finite numbers are expected/],
  ["numbers beyond all bounds", two(joint("j", "continuous", "a", "b", '<origin xyz="1 2 1e999"/>')), /<origin xyz="1 2 1e999">/],
  ["numbers that no scene takes", two(joint("j", "continuous", "a", "b", '<origin xyz="1 2 1e80"/>')), /<origin xyz="1 2 1e80">/],
  ["numbers of base 16", two(joint("j", "continuous", "a", "b", '<origin xyz="0x10 0 0"/>')), /<origin xyz="0x10 0 0">/],
  ["two joints of one name", `<robot name="r"><link name="a"/>${["b", "c"].map((n) => `<link name="${n}">${inertial(1, 1)}</link>`).join("")}${joint("j", "continuous", "a", "b")}${joint("j", "continuous", "b", "c")}</robot>`, /there are two joints "j"/],
  ["limits the wrong way round", two(joint("j", "revolute", "a", "b", '<limit lower="2" upper="1"/>')), /<limit lower="2" upper="1"> of joint "j"/],
  ["friction that drives", two(joint("j", "continuous", "a", "b", '<dynamics friction="-1"/>')), /<dynamics friction="-1"> of joint "j": must be 0 or more/],
  ["effort below nothing", two(joint("j", "continuous", "a", "b", '<limit effort="-2" velocity="1"/>')), /<limit effort="-2"> of joint "j": must be 0 or more/],
  ["no limits", two(joint("j", "revolute", "a", "b")), /joint "j" needs <limit/],
  ["a zero axis", two(joint("j", "continuous", "a", "b", '<axis xyz="0 0 0"/>')), /<axis xyz="0 0 0"> of joint "j": must not be zero/],
  ["a floating joint", two(joint("j", "floating", "a", "b")), /<joint name="j" type="floating">/],
  ["a joint that mimics", two(joint("j", "continuous", "a", "b", '<mimic joint="k"/>')), /"j" has <mimic>/],
  ["a link that is not there", two(joint("j", "continuous", "a", "z")), /<child link="z"> of joint "j": there is no such link/],
  ["a loop", two(joint("j", "continuous", "a", "b") + joint("k", "continuous", "b", "a")), /its own ancestor/],
  ["two parents", two(joint("j", "continuous", "a", "b") + joint("k", "continuous", "a", "b")), /child of joint "j" and of "k"/],
  ["two roots", two(""), /"a" and "b" both hang on no joint/],
  ["no mass", `<robot name="r"><link name="a"/><link name="b"/>${joint("j", "continuous", "a", "b")}</robot>`, /link "b" moves but has no mass/],
  ["an inertia of no solid", two(joint("j", "continuous", "a", "b")).replace('izz="1"', 'izz="3"'), /<inertia> of link "b"/],
  ["macros", '<robot name="r"><xacro:macro name="m"/></robot>', /macros must be expanded/],
  ["entities", '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>', /document types and entities/],
  ["depth", `<robot name="r">${"<x>".repeat(100)}${"</x>".repeat(100)}</robot>`, /more than 32 elements deep/],
  ["65 joints", `<robot name="r"><link name="l0"/>${Array.from({ length: 65 }, (_, i) => `<link name="l${i + 1}">${inertial(1, 1)}</link>${joint(`j${i}`, "continuous", `l${i}`, `l${i + 1}`)}`).join("")}</robot>`, /at most 64 joints/],
];

for (const [what, urdf, message] of refused)
  test(`refused: ${what}`, () => {
    const r = convert(urdf);
    assert.equal(r.code, 2, r.err);
    assert.match(r.err, message);
  });

test("a description is posted, and becomes a mechanism of the scene", async () => {
  const server = await start();
  const post = (body) => request(server, "POST", "/api/v1/mechanisms", body);
  const made = await post({ id: "lift", urdf: arm, base: { p: [0, 0, 2] } });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.json.id, "lift");
  assert.equal(made.json.links.length, 2);
  assert.deepEqual(made.json.base.p, [0, 0, 2]);
  assert.equal((await post({ urdf: arm })).json.id, "small_arm");
  const wrong = await post({ id: "x", urdf: "<svg/>" });
  assert.equal(wrong.status, 400);
  assert.match(JSON.stringify(wrong.json), /\/urdf.*not a robot description/);
  assert.equal((await post({ id: "y", urdf: arm, tip: "nothing" })).status, 404);
  assert.equal((await post({ id: "y", urdf: arm, links: [] })).status, 400);
  await server.stop();
});
