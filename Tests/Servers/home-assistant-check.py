"""Runs Home Assistant's core in this process, with one altnet device at a broker. Checks the entities and their delays.

    home-assistant-check.py CONFIG-FOLDER BROKER-PORT DEVICE-ID AGENT-SOCKET FLAGS

Runs inside the Debian 14 of Tests/Servers/home-assistant. That script does what files in FLAGS ask for (see `demand`).
"""
import asyncio, json, os, socket, sys, threading, time
from homeassistant import bootstrap  # noqa: F401  # comes first, because its modules import each other
from homeassistant.helpers import device_registry, entity_registry
import home_assistant_core as core

folder, port, device, agent, flags = sys.argv[1:6]

failures = []
changes = {}
heard = {}


def check(what, holds):
    print(("  " if holds else "FAILED: ") + what, flush=True)
    if not holds:
        failures.append(what)
        print("1 failure", flush=True)
        os._exit(1)


def follow(path):
    """Records when the agent itself reports a network."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    link.sendall(b'{"v":1,"id":"1","type":"events.subscribe"}\n')
    for line in link.makefile("rb"):
        event = json.loads(line)
        if event.get("event") == "network.changed":
            heard.setdefault(event["body"].get("ssid"), time.monotonic())
        if event.get("event") == "switch.progress" and event["body"]["phase"] == "committed":
            heard["committed"] = time.monotonic()


def make_home(path, name):
    """Makes a stored network the device's home."""
    def ask(kind, body):
        link.sendall(json.dumps({"v": 1, "id": "1", "type": kind, "body": body}).encode() + b"\n")
        return json.loads(answers.readline())["body"]

    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    answers = link.makefile("rb")
    networks = ask("backups.get", {})["networks"]
    home = next(network["hash"] for network in networks if network.get("ssid") == name)
    ask("backups.update", {"networks": [{"hash": network["hash"]} for network in networks], "home": {"hash": home}})


def demand(name):
    """Asks the script that started this to do something, by a file in FLAGS."""
    open(f"{flags}/{name}", "w").close()


async def until(what, holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            check(what, False)
            return False
        await asyncio.sleep(0.02)
    check(what, True)
    return True


async def main():
    takes_picture = os.path.exists(f"{flags}/takes-picture")
    hass, began = await core.start(folder, port, page=takes_picture)
    registry = entity_registry.async_get(hass)

    def identifier(name):
        return core.entity(registry, device, name)

    def state(name):
        entity = identifier(name)
        found = entity and hass.states.get(entity)
        return found.state if found else None

    def note(event):
        new = event.data["new_state"]
        if new is not None:
            changes.setdefault((new.entity_id, new.state), time.monotonic())

    hass.bus.async_listen("state_changed", note)
    names = core.NAMES
    await until("all 13 entities appear", lambda: all(state(name) is not None for name in names))
    print(f"  they were there {time.monotonic() - began:.1f} s after the start", flush=True)
    await until("it is online", lambda: state("online") == "on")
    await until("its network is reported", lambda: state("network") == "Garden" and state("select") == "Garden")
    await until("its signal is reported", lambda: (state("signal") or "").startswith("-"))
    for name in names:
        print(f"    {identifier(name)} = {state(name)}", flush=True)
    select = identifier("select")
    network = identifier("network")
    check("the select has the stored networks", set(hass.states.get(select).attributes["options"]) == {"Garden", "Home"})
    check("the firmware has a version and none that is newer", state("firmware") == "off"
          and bool(hass.states.get(identifier("firmware")).attributes.get("installed_version")))

    found = device_registry.async_get(hass).async_get(registry.entities[network].device_id)
    check("the device has its id as name and serial number", (found.name, found.serial_number) == (device, device))
    check("it has its maker and version", found.manufacturer == "altnet" and bool(found.sw_version))
    check("it links to its page", (found.configuration_url or "").startswith(f"https://{state('address')}:"))

    threading.Thread(target=follow, args=(agent,), daemon=True).start()
    await asyncio.sleep(1)
    gaps = []
    for name in ["Home", "Garden", "Home", "Garden"]:
        changes.clear()
        heard.clear()
        pressed = time.monotonic()
        await hass.services.async_call("select", "select_option", {"entity_id": select, "option": name}, blocking=True)
        if not await until(f"the select moves the device to {name}", lambda: state("network") == name):
            break
        await until("the agent has stored the move", lambda: name in heard and "committed" in heard)
        gap = changes[(network, name)] - heard[name]
        gaps.append(gap)
        print(f"    from the select to the entity {time.monotonic() - pressed:.2f} s, from the agent's event to the entity "
              f"{gap * 1000:.0f} ms", flush=True)
        check("it was never unavailable", all(value not in ("unavailable", "off") for (entity, value) in changes
                                              if entity == identifier("online")))
    check("a change is there within 0.5 s", bool(gaps) and max(gaps) <= 0.5)
    decision = hass.states.get(identifier("decision"))
    check("the last decision is an event with its reason", decision.attributes.get("reason") == "commanded"
          and decision.attributes.get("text") is not None)
    print(f"    {decision.attributes.get('event_type')}: {decision.attributes.get('text')}", flush=True)

    if takes_picture:
        core.dashboard(folder, registry, device)
        demand("picture")
        await until("a browser shows the dashboard", lambda: os.path.exists(f"{flags}/picture-taken"), 180)
    make_home(agent, "Home")
    await asyncio.sleep(0.5)
    await hass.services.async_call("button", "press", {"entity_id": identifier("scan")}, blocking=True)
    await hass.services.async_call("button", "press", {"entity_id": identifier("identify")}, blocking=True)
    await hass.services.async_call("button", "press", {"entity_id": identifier("home")}, blocking=True)
    await until("the button brings it home", lambda: state("network") == "Home")

    demand("kill")
    await until("a device that is gone is offline", lambda: state("online") == "off")
    check("and its last reports are not shown as current", state("network") == "unavailable" and state("signal") == "unavailable")
    demand("start")
    await until("it comes back", lambda: state("online") == "on" and state("network") == "Home")
    demand("remove")
    await until("it is removed with all its entities", lambda: identifier("online") is None)
    await hass.async_stop(force=True)


asyncio.run(main())
print(f"{len(failures)} failures", flush=True)
os._exit(1 if failures else 0)
