#!/usr/bin/env python3
"""A sensor that tells where a plane is, 200 times a second: the held cone rides on it all the while.

usage: python3 examples/sensor.py [URL]
"""
import http.client
import json
import math
import sys
import time
import urllib.parse

ADDRESS = urllib.parse.urlsplit(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080").netloc
SECONDS, HZ = 2, 200
LINK = http.client.HTTPConnection(ADDRESS, timeout=10)  # one connection for all


def ask(method, path, body=None):
    """One request; the answer as Python values. A refusal ends the program with its words."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    LINK.request(method, "/api/v1" + path, None if body is None else json.dumps(body), headers)
    reply = LINK.getresponse()
    answer = json.loads(reply.read() or "null")
    if reply.status >= 300:
        sys.exit(f"{method} {path}: {answer['detail']}")
    return answer


def shelf(z):
    return {"plane": {"point": [0, 0, z], "normal": [0, 0, 1]}}


ask("PUT", "/scene", {
    "format": "guideway-scene/1", "name": "Sensor, in Python",
    "objects": [
        {"id": "cell", "geometry": {"type": "box", "size": [0.4, 0.4, 0.02]}, "fixed": True},
        {"id": "cone", "geometry": {"type": "cone", "radius": 0.04, "height": 0.1}, "pose": {"p": [0, 0, 0.2], "q": [1, 0, 0, 0]}}],
    "features": [{"id": "cell/shelf", **shelf(0.1)}],
    "constraints": [{"id": "c1", "type": "coincident", "a": "cone/base", "b": "cell/shelf", "sense": "opposite"}],
    "tool": {"object": "cone", "device": "sim", "control": "admittance"}, "devices": [{"id": "sim", "driver": "sim"}]})
ask("PUT", "/simulation", {"state": "running"})

begin = time.monotonic()
for k in range(SECONDS * HZ):
    time.sleep(max(0, begin + k / HZ - time.monotonic()))
    z = 0.1 + 0.02 * math.sin(2 * math.pi * k / HZ)
    ask("PATCH", "/features/cell/shelf", shelf(z))
time.sleep(0.1)
tool = ask("GET", "/simulation")["tools"][0]
print(f"{SECONDS * HZ} values, the last {z:.4f} m; the cone's base is at {tool['pose']['p'][2]:.4f} m, "
      f"{'travelling' if tool['travelling'] else 'on its constraint'}")
ask("PUT", "/simulation", {"state": "paused"})
