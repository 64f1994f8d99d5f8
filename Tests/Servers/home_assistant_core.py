"""Home Assistant's core in this process, with MQTT at a broker on this machine and nothing else."""
import json, os, time


async def start(folder, port):
    """Returns it, running, and when it was told to start."""
    os.makedirs(folder + "/.storage", exist_ok=True)
    with open(folder + "/configuration.yaml", "w") as file:
        file.write("homeassistant:\n  name: House\n  time_zone: UTC\nlogger:\n  default: warning\n")
    with open(folder + "/.storage/core.config_entries", "w") as file:
        json.dump({"version": 1, "minor_version": 4, "key": "core.config_entries", "data": {"entries": [{
            "created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00",
            "data": {"broker": "127.0.0.1", "port": int(port), "discovery": True},
            "disabled_by": None, "discovery_keys": {}, "domain": "mqtt", "entry_id": "mqtt0001", "minor_version": 2,
            "options": {}, "pref_disable_new_entities": False, "pref_disable_polling": False, "source": "user",
            "title": "broker", "unique_id": None, "version": 1}]}}, file)
    from homeassistant import bootstrap, runner
    # Headless: its frontend is a package of its own, without which it would start in recovery mode.
    bootstrap.CRITICAL_INTEGRATIONS = set()
    hass = await bootstrap.async_setup_hass(runner.RuntimeConfig(
        config_dir=folder, skip_pip=True, open_ui=False, verbose=False, log_rotate_days=None, log_file=None,
        log_no_color=True, recovery_mode=False, debug=False, safe_mode=False))
    assert hass is not None
    began = time.monotonic()
    await hass.async_start()
    return hass, began


def entity(registry, device, name):
    """The identifier of an entity of the device; None where it is not there."""
    unique = "".join(c if c.isalnum() or c == "-" else "_%02x" % ord(c) for c in device)
    return next((entry.entity_id for entry in registry.entities.values()
                 if entry.unique_id == f"altnet_{unique}_{name}"), None)


NAMES = ["online", "network", "reach", "signal", "address", "outages", "offline_time", "decision", "select", "home",
         "scan", "identify", "firmware"]
