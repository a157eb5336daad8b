#!/usr/bin/env python3
"""Builds "plane on plane, axes 5 cm apart" from nothing, runs it, pushes, prints where the cone went.

usage: python3 examples/circle.py [URL]
"""
import json
import math
import sys
import time
import urllib.error
import urllib.request

URL = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080") + "/api/v1"


def ask(method, path, body=None):
    """One request; the answer as Python values. A refusal ends the program with its words."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            text = reply.read()
            return json.loads(text) if text else None
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{method} {path}: {json.load(refusal)['detail']}")


def build():
    ask("PUT", "/scene", {"format": "guideway-scene/1", "name": "Circle, in Python", "objects": []})
    ask("POST", "/objects", {"id": "cylinder", "geometry": {"type": "cylinder", "radius": 0.1, "height": 0.2}, "fixed": True})
    ask("POST", "/objects", {"id": "cone", "geometry": {"type": "cone", "radius": 0.04, "height": 0.1},
                             "pose": {"p": [0.07, 0.02, 0.3], "q": [1, 0, 0, 0]}, "body": {"mass": 2.0}})
    ask("PUT", "/tool", {"object": "cone", "device": "sim", "control": "admittance"})
    plane = {"id": "plane", "type": "coincident", "a": "cone/base", "b": "cylinder/top", "sense": "opposite"}
    axes = {"id": "axes", "type": "distance", "a": "cone/axis", "b": "cylinder/axis", "value": 0.05}
    print("plane alone:", ask("POST", "/constraints?dryRun=true", plane)["words"])
    ask("POST", "/constraints", plane)
    ask("POST", "/constraints", axes)
    print("with axes:  ", ask("GET", "/solutions/cone")["words"])


def push():
    ask("PUT", "/simulation", {"state": "running"})
    ask("PUT", "/devices/sim/operator", {"type": "wrench", "samples": [
        {"t": 0, "force": [0, 0.5, -5], "torque": [0, 0, 0]},
        {"t": 0.5, "force": [0, 0, 0], "torque": [0, 0, 0]}]})
    time.sleep(1)
    return ask("PUT", "/simulation", {"state": "paused"})["tools"][0]


build()
tool = push()
x, y, z = tool["pose"]["p"]
print(f"the cone is at {1000 * x:.3f} {1000 * y:.3f} {1000 * z:.3f} mm, "
      f"{1000 * math.hypot(x, y):.6f} mm from the axis, residual {tool['residual']:.1e} m")
