import AppProtocol
import MQTTBridge

/// Settings of `altnet-mqtt`. The agent uses and enforces the role of the broker's clients, and checks all values, as
/// they share a file.
extension Setting {
    static let mqtt = [
        mqtt(
            .broker, .implied("none", example: "mqtts://broker.example.com"),
            "The MQTT 5 broker for the device, with or without TLS."),
        mqtt(
            .user, .implied("none", example: "pump-7"),
            "The user name for the broker. The password is a file: see ALTNET_MQTT_SECRETS."),
        mqtt(
            .secrets, .implied("the service's credentials, which are /etc/altnet/mqtt", example: "/etc/altnet/mqtt"),
            "The folder with the files ca.pem, certificate.pem, key.pem, password and psk; all are optional."),
        mqtt(
            .clientID, .implied("altnet- and the device's id", example: "pump-7"),
            "The MQTT client ID. It must be unique at the broker."),
        mqtt(.prefix, .value(standard.prefix), "The prefix of the device's topics."),
        mqtt(
            .commands, .value(standard.role?.rawValue ?? "none"),
            "The rights of clients that publish requests at the broker: nothing (none), reading (see), also switching "
                + "the device (switch), or also changing what is stored (manage). Passwords must always be sealed."),
        mqtt(
            .discovery, .value(standard.discoveryPrefix ?? "no"),
            "The topic below which Home Assistant looks for devices; no: do not announce the device."),
        mqtt(.signal, .value(text(standard.signalInterval)), "Minimum interval between messages with the signal."),
        mqtt(
            .keepAlive, .value(text(standard.keepAlive)),
            "Keepalive interval of the connection to the broker."),
        mqtt(
            .willDelay, .value(text(standard.willDelay)),
            "How long the broker waits after a lost connection before it reports the device as offline. Must be "
                + "longer than a planned switch."),
        mqtt(
            .session, .value(text(standard.sessionExpiry)),
            "How long the broker keeps messages for the device while it is offline; at least ALTNET_MQTT_WILL_DELAY_S "
                + "is used."
        ),
        mqtt(
            .spread, .value(text(standard.spread)),
            "Maximum first wait before connecting again, which spreads a fleet that has lost the same broker or "
                + "network."
        ),
        mqtt(
            .retry, .value(text(standard.longestWait)),
            "Maximum wait between two attempts to connect; at least twice ALTNET_MQTT_SPREAD_S is used."),
    ]

    private static let standard = BridgeSettings()

    private static func text(_ duration: Duration) -> String { "\(duration.components.seconds)" }

    private static func mqtt(_ name: BridgeOptions.Name, _ standard: Standard, _ meaning: String) -> Setting {
        let form: SettingForm =
            switch name.form {
            case .seconds(let range): .number(range, .seconds)
            case .oneOf(let words): .oneOf(words)
            case .path: .path
            case .text(let words): .other(words)
            }
        return Setting("MQTT_" + name.rawValue, form, standard, .onRestart, meaning)
    }
}

extension SettingsReader {
    /// Returns the role of the broker's clients, and records values that `altnet-mqtt` would refuse.
    mutating func brokerRole() -> Role {
        var values: [BridgeOptions.Name: String] = [:]
        for (name, setting) in zip(BridgeOptions.Name.allCases, Setting.mqtt) { values[name] = anyText(setting) }
        do throws(BridgeOptions.Faults) {
            return try BridgeOptions(values).bridge.role ?? .see
        } catch {
            for fault in error.faults {
                guard let setting = Setting.mqtt.first(where: { $0.name == "ALTNET_MQTT_" + fault.name }) else {
                    continue
                }
                refuse(setting, "is \(fault.value.quoted)", allowed: setting.form.allowed)
            }
            return .see
        }
    }
}
