// Khronos's validator over exports and the files they were made from: an export has no errors and no
// warning of a kind that its original has not.
//
//     node validate.mjs FOLDER_OF_NODE_MODULES FOLDER
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const [modules, folder] = process.argv.slice(2);
const validator = createRequire(path.resolve(modules, "package.json"))("gltf-validator");

async function validate(file) {
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), { maxIssues: 100000 });
  const warnings = {};
  for (const message of report.issues.messages)
    if (message.severity === 1) warnings[message.code] = (warnings[message.code] ?? 0) + 1;
  return { errors: report.issues.numErrors, warnings, messages: report.issues.messages };
}

let failed = 0;
for (const info of fs.readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const bake = JSON.parse(fs.readFileSync(path.join(folder, info), "utf8"));
  const before = await validate(bake.source);
  for (const form of ["glb", "reduced.glb", "vrm"]) {
    const file = path.join(folder, `${bake.name}.${form}`);
    if (!fs.existsSync(file)) continue;
    const after = await validate(file);
    const added = Object.keys(after.warnings).filter((code) => after.warnings[code] > (before.warnings[code] ?? 0));
    const good = after.errors === 0 && added.length === 0;
    console.log(`${bake.name}.${form}: ${after.errors} errors (original ${before.errors}), warnings ` +
      `${JSON.stringify(after.warnings)}${added.length ? ` of which new: ${added}` : ""}${good ? "" : ": FAILED"}`);
    if (good) continue;
    failed++;
    for (const message of after.messages.filter((one) => one.severity < 2).slice(0, 5))
      console.log(`    ${message.pointer}: ${message.message}`);
  }
}
process.exit(failed ? 1 : 0);
