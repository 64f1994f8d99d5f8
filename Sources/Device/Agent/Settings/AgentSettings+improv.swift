import AgentModel

/// Settings of `altnet improv`. The agent does not use them.
public struct ImprovOptions: Sendable, Equatable {
    /// Time after the button in which Bluetooth clients may send a network.
    public var window: Duration
    /// True to accept a network for the same time after the start, if no network is stored.
    public var isOpenAtStart: Bool
    public var page: String?
    /// Folder of the light, and path of the program, with which the device identifies itself.
    public var light: String?
    public var identifyProgram: String?
}

extension Setting {
    static let improvWindow = seconds(
        "IMPROV_S", 10...3600, standard: .seconds(60), .onRestart,
        "How long Improv over Bluetooth accepts a network after the button was pressed.")
    static let improvAtStart = Setting(
        "IMPROV_AT_START", .oneOf(["yes", "no"]), .value("yes"), .onRestart,
        "Accept a network by Improv over Bluetooth for ALTNET_IMPROV_S after the start too, if no network is stored.")
    static let improvPage = Setting(
        "IMPROV_PAGE", .other(ImprovOptions.allowedPage), .implied("none", example: "http://{address}/"), .onRestart,
        "The address of the device's page that Improv sends to its client when the device is online.")
    static let improvLight = Setting(
        "IMPROV_LED", .other("the name of a light in /sys/class/leds"), .implied("none", example: "ACT"), .onRestart,
        "The light that blinks for 5 s when an Improv client or Home Assistant asks the device to identify itself.")
    static let improvProgram = Setting(
        "IMPROV_IDENTIFY", .path, .implied("none", example: "/usr/local/bin/beep"), .onRestart,
        "A program to run when an Improv client or Home Assistant asks the device to identify itself, as the user of "
            + "altnet-improv-ble.service or altnet-mqtt.service."
    )
}

extension ImprovOptions {
    static let allowedPage =
        "an address that begins with http:// or https://, of at most 200 printable ASCII characters; {address} stands "
        + "for the device's IPv4 address"

    static func isPage(_ text: String) -> Bool {
        (text.hasPrefix("http://") || text.hasPrefix("https://"))
            && text.utf8.count <= 200 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Returns true if the name is that of a single folder in `/sys/class/leds`.
    static func isLight(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") }
    }
}

extension SettingsReader {
    mutating func improv() -> ImprovOptions {
        var options = ImprovOptions(window: seconds(.improvWindow), isOpenAtStart: isYes(.improvAtStart))
        options.page = text(.improvPage, where: ImprovOptions.isPage)
        options.light = text(.improvLight, where: ImprovOptions.isLight).map { "/sys/class/leds/\($0)" }
        options.identifyProgram = optionalPath(.improvProgram)
        return options
    }

    private mutating func text(_ setting: Setting, where isAllowed: (String) -> Bool) -> String? {
        guard let text = anyText(setting) else { return nil }
        guard isAllowed(text) else {
            refuse(setting, "is \(text.quoted)", allowed: setting.form.allowed)
            return nil
        }
        return text
    }
}
