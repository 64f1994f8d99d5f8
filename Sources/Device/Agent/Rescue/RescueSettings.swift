import AgentCore
import AgentModel

public struct RescueSettings: Sendable, Equatable {
    /// Interface, created on the station's radio or present on another radio.
    public var interface: String
    var radio: RescueRadioChoice
    /// Nil for a name derived from the device ID.
    public var name: SSID?
    package var times: RescueAccessPoint.Settings
}

/// Place on the station's radio.
enum RescueRadioChoice: String, CaseIterable {
    /// Beside the station if the radio supports it.
    case auto
    /// Instead of the station, for drivers that promise more than they can do.
    case instead
}

extension RescueSettings {
    /// - Parameter stations: interfaces that are not allowed.
    /// - Returns: nil if it is disabled.
    init?(from reader: inout SettingsReader, besides stations: [String]) {
        let interface = reader.interface(.rescueInterface)
        if stations.contains(interface) {
            reader.refuse(
                .rescueInterface, "is that of a station",
                allowed: "an interface besides ALTNET_INTERFACE and ALTNET_SPARE_INTERFACE")
        }
        let radio = reader.choice(.rescueRadio) ?? RescueRadioChoice.auto
        let name = reader.networkName(.rescueName)
        let times = RescueAccessPoint.Settings(
            unseen: reader.seconds(.rescueUnseen), refused: reader.seconds(.rescueRefused),
            idle: reader.seconds(.rescueIdle), requested: reader.seconds(.rescueTime))
        guard reader.isYes(.rescue) else { return nil }
        (self.interface, self.radio, self.name, self.times) = (interface, radio, name, times)
    }
}

extension Setting {
    private static let times = RescueAccessPoint.Settings()

    static let rescue = Setting(
        "RESCUE", .oneOf(["yes", "no"]), .value("yes"), .onRestart,
        "Whether the device opens an access point of its own where no network connects it: when it has none yet, when none "
            + "that is stored is in range or lets it in, by the button and by command. With no it never does.")
    static let rescueInterface = Setting(
        "RESCUE_INTERFACE", .interface, .value("altnet0"), .onRestart,
        "The access point's interface. Where there is none of that name, the agent makes it on the station's radio while it is "
            + "open. It needs a wpa_supplicant as the station does, which the Debian package sees to.")
    static let rescueRadio = Setting(
        "RESCUE_RADIO", .oneOf(RescueRadioChoice.allCases.map(\.rawValue)), .value(RescueRadioChoice.auto.rawValue),
        .onRestart,
        "Where it is on the station's radio: beside the station where the radio allows it (auto), or always in its place "
            + "(instead).")
    static let rescueName = Setting(
        "RESCUE_SSID", .other("1 to 32 bytes"),
        .implied("altnet- and the last four characters of the device's id", example: "Lamp"), .onRestart,
        "The access point's name. Its password follows from the device's key, and is on its label.")
    static let rescueUnseen = seconds(
        "RESCUE_UNSEEN_S", 30...86_400, standard: times.unseen, .onRestart,
        "It opens when no stored network has been seen for this long.")
    static let rescueRefused = seconds(
        "RESCUE_REFUSED_S", 30...86_400, standard: times.refused, .onRestart,
        "It opens when a stored network has refused the device for this long, and no other one works.")
    static let rescueIdle = seconds(
        "RESCUE_IDLE_S", 10...3600, standard: times.idle, .onRestart,
        "For this long after the last question of a browser a user counts as being there: until then a radio that cannot hold "
            + "both joins only what it is sent to, and the access point stays open.")
    static let rescueTime = seconds(
        "RESCUE_OPEN_S", 60...86_400, standard: times.requested, .onRestart,
        "How long it is open by the button or by command, counted from then and from every question of a browser.")
}

extension SettingsReader {
    fileprivate mutating func networkName(_ setting: Setting) -> SSID? {
        guard let text = anyText(setting) else { return nil }
        do throws(InvalidSSID) {
            let name = try SSID(text)
            if !name.bytes.isEmpty { return name }
        } catch {}
        refuse(setting, "is \(text.quoted)", allowed: setting.form.allowed)
        return nil
    }
}
