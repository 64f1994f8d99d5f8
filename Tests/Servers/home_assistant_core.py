"""Starts Home Assistant's core in this process, with MQTT at a broker on this machine and nothing else."""
import json, os, time


# Settings of its page, for a browser on this machine, which needs no password.
PAGE = """  auth_providers:
    - type: trusted_networks
      trusted_networks: [127.0.0.1]
      allow_bypass_login: true
frontend:
lovelace:
  dashboards:
    altnet-device:
      mode: yaml
      filename: ui-lovelace.yaml
      title: House
"""


async def start(folder, port, page=False):
    """Starts Home Assistant. Returns it and the time of the start. `page` serves its page at http://127.0.0.1:8123."""
    os.makedirs(folder + "/.storage", exist_ok=True)
    with open(folder + "/configuration.yaml", "w") as file:
        file.write("homeassistant:\n  name: House\n  time_zone: UTC\n" + (PAGE if page else "")
                   + "logger:\n  default: warning\n")
    if page:
        with open(folder + "/.storage/onboarding", "w") as file:
            json.dump({"version": 4, "minor_version": 1, "key": "onboarding",
                       "data": {"done": ["user", "core_config", "analytics", "integration"]}}, file)
    with open(folder + "/.storage/core.config_entries", "w") as file:
        json.dump({"version": 1, "minor_version": 4, "key": "core.config_entries", "data": {"entries": [{
            "created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00",
            "data": {"broker": "127.0.0.1", "port": int(port), "discovery": True},
            "disabled_by": None, "discovery_keys": {}, "domain": "mqtt", "entry_id": "mqtt0001", "minor_version": 2,
            "options": {}, "pref_disable_new_entities": False, "pref_disable_polling": False, "source": "user",
            "title": "broker", "unique_id": None, "version": 1}]}}, file)
    from homeassistant import bootstrap, runner
    # Otherwise it would start in recovery mode without its page.
    bootstrap.CRITICAL_INTEGRATIONS = set()
    hass = await bootstrap.async_setup_hass(runner.RuntimeConfig(
        config_dir=folder, skip_pip=True, open_ui=False, verbose=False, log_rotate_days=None, log_file=None,
        log_no_color=True, recovery_mode=False, debug=False, safe_mode=False))
    assert hass is not None
    if page:
        await hass.auth.async_create_user("Owner", group_ids=["system-admin"])
    began = time.monotonic()
    await hass.async_start()
    return hass, began


def dashboard(folder, registry, device):
    """Writes a dashboard that shows the device."""
    def row(name):
        found = registry.entities[entity(registry, device, name)]
        # The default picture of an update is not on this machine.
        icon = {"icon": "mdi:package-up"} if name == "firmware" else {}
        return {"entity": found.entity_id, "name": found.original_name, **icon}

    def card(title, names):
        return {"type": "entities", "title": title, "entities": [row(name) for name in names]}

    decision = entity(registry, device, "decision")
    cards = [
        card(f"Device {device}", ["online", "network", "reach", "signal", "address", "select"]),
        card("What it decided", ["decision", "outages", "offline_time"]),
        {"type": "markdown", "title": "Why", "content": "{{ state_attr('%s', 'text') }}" % decision},
        card("To do", ["home", "scan", "identify", "firmware"]),
    ]
    with open(folder + "/ui-lovelace.yaml", "w") as file:
        # JSON is YAML too.
        json.dump({"title": "House", "views": [{"title": "House", "cards": cards}]}, file)


def entity(registry, device, name):
    """Returns the identifier of an entity of the device, or None if there is no such entity."""
    unique = "".join(c if c.isalnum() or c == "-" else "_%02x" % ord(c) for c in device)
    return next((entry.entity_id for entry in registry.entities.values()
                 if entry.unique_id == f"altnet_{unique}_{name}"), None)


NAMES = ["online", "network", "reach", "signal", "address", "outages", "offline_time", "decision", "select", "home",
         "scan", "identify", "firmware"]
