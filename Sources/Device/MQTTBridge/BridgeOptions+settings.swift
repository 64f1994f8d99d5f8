import AgentModel

extension BridgeOptions {
    /// Settings of the bridge in the agent's file. ALTNET_MQTT_COMMANDS is in the agent's table, because the agent
    /// enforces it.
    package static let settings = [
        setting(
            .broker, .implied("none", example: "mqtts://broker.example.com"),
            "The MQTT 5 broker for the device, with or without TLS."),
        setting(
            .user, .implied("none", example: "pump-7"),
            "The user name for the broker. The password is a file: see ALTNET_MQTT_SECRETS."),
        setting(
            .secrets, .implied("the service's credentials, which are /etc/altnet/mqtt", example: "/etc/altnet/mqtt"),
            "The folder with the files ca.pem, certificate.pem, key.pem, password and psk; all are optional."),
        setting(
            .clientID, .implied("altnet- and the device's id", example: "pump-7"),
            "The MQTT client ID. It must be unique at the broker."),
        setting(.prefix, .value(standard.prefix), "The prefix of the device's topics."),
        setting(
            .discovery, .value(standard.discoveryPrefix ?? "no"),
            "The topic below which Home Assistant looks for devices; no: do not announce the device."),
        setting(.signal, .value(text(standard.signalInterval)), "Minimum interval between messages with the signal."),
        setting(.keepAlive, .value(text(standard.keepAlive)), "Keepalive interval of the connection to the broker."),
        setting(
            .willDelay, .value(text(standard.willDelay)),
            "How long the broker waits after a lost connection before it reports the device as offline. Must be "
                + "longer than a planned switch."),
        setting(
            .session, .value(text(standard.sessionExpiry)),
            "How long the broker keeps messages for the device while it is offline; at least ALTNET_MQTT_WILL_DELAY_S "
                + "is used."),
        setting(
            .spread, .value(text(standard.spread)),
            "Maximum first wait before connecting again, which spreads a fleet that has lost the same broker or "
                + "network."),
        setting(
            .retry, .value(text(standard.longestWait)),
            "Maximum wait between two attempts to connect; at least twice ALTNET_MQTT_SPREAD_S is used."),
    ]

    package static let settingGroup = SettingGroup(title: "MQTT broker", settings: settings)

    package static func accepts(_ value: String, for setting: Setting) -> Bool {
        guard let name = Name(rawValue: String(setting.name.dropFirst("ALTNET_MQTT_".count))) else { return false }
        return (try? BridgeOptions([name: value])) != nil
    }

    private static let standard = BridgeSettings()

    private static func text(_ duration: Duration) -> String { "\(duration.components.seconds)" }

    private static func setting(_ name: Name, _ standard: Setting.Standard, _ meaning: String) -> Setting {
        Setting("MQTT_" + name.rawValue, name.form, standard, .onRestart, meaning)
    }
}
