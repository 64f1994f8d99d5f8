"""Runs Home Assistant's core in this process, with a device of the lab at a broker.

    home-assistant-scene.py CONFIG-FOLDER BROKER-PORT DEVICE-ID ORDERS

Prints "NAME ENTITY STATE", separated by tabs, for each entity of the device, and again after each change. A network
name that is appended to the file ORDERS, as a line, is chosen in the device's select.
"""
import asyncio, os, sys
from homeassistant import bootstrap  # noqa: F401  # comes first, because its modules import each other
from homeassistant.helpers import entity_registry
import home_assistant_core as core

folder, port, device, orders = sys.argv[1:5]


async def main():
    hass, _ = await core.start(folder, port)
    registry = entity_registry.async_get(hass)
    entities = {}

    def tell(entity, state):
        for name in entities:
            if entities[name] == entity:
                print(name, entity, state, sep="\t", flush=True)

    def note(event):
        new = event.data["new_state"]
        if new is not None and (event.data["old_state"] is None or event.data["old_state"].state != new.state):
            tell(new.entity_id, new.state)

    hass.bus.async_listen("state_changed", note)
    while len(entities) < len(core.NAMES):
        for name in core.NAMES:
            entity = core.entity(registry, device, name)
            if name not in entities and entity and hass.states.get(entity):
                entities[name] = entity
                tell(entity, hass.states.get(entity).state)
        await asyncio.sleep(0.1)
    while hass.states.get(entities["online"]).state != "on":
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)
    print("ready", flush=True)
    with open(orders) as file:
        while True:
            line = file.readline()
            if line.endswith("\n"):
                await hass.services.async_call(
                    "select", "select_option", {"entity_id": entities["select"], "option": line.rstrip("\n")}, blocking=True)
            await asyncio.sleep(0.1)


asyncio.run(main())
