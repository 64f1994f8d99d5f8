import AgentModel
import DHCP
import Logging

/// Reads one setting after the other. Records an invalid setting and uses its default, so that all errors are reported
/// together.
struct SettingsReader {
    struct Given: Sendable, Equatable {
        let text: String
        let origin: SettingOrigin
    }

    private let given: [String: Given]
    private(set) var problems: [InvalidSetting] = []

    init(_ given: [String: Given]) { self.given = given }

    func isSet(_ setting: Setting) -> Bool { given[setting.name] != nil }

    mutating func refuse(_ setting: Setting, _ problem: String, allowed: String, besides others: [Setting] = []) {
        let origin = ([setting] + others).lazy.compactMap { [given] in given[$0.name]?.origin }.first
        problems.append(InvalidSetting(setting.name, problem, allowed: allowed, origin: origin))
    }

    /// Returns true if one of these settings was refused, so that they cannot be compared.
    func isRefused(_ settings: Setting...) -> Bool {
        problems.contains { problem in settings.contains { $0.name == problem.name } }
    }

    // MARK: By form

    mutating func number(_ setting: Setting) -> Int {
        guard case .number(let range, _) = setting.form else { preconditionFailure("\(setting.name) is not a number") }
        let standard = Int(setting.example) ?? range.lowerBound
        return value(of: setting) { text in Int(text).flatMap { range.contains($0) ? $0 : nil } } ?? standard
    }

    /// Reads a setting in whole seconds.
    mutating func seconds(_ setting: Setting) -> Duration { .seconds(number(setting)) }

    mutating func path(_ setting: Setting, default standard: String? = nil) -> String {
        optionalPath(setting) ?? standard ?? setting.example
    }

    mutating func optionalPath(_ setting: Setting) -> String? {
        value(of: setting, insteadAllowed: "\(setting.form.allowed), such as \(setting.example)") { text in
            text.hasPrefix("/") && !text.utf8.contains(0) ? text : nil
        }
    }

    mutating func interface(_ setting: Setting) -> String {
        value(of: setting) { text in text.isInterfaceName ? text : nil } ?? setting.example
    }

    mutating func interfaceChoice(_ setting: Setting) -> InterfaceChoice {
        value(of: setting, read: InterfaceChoice.init) ?? .name(setting.example)
    }

    /// - Parameter other: interface that the setting must not name.
    mutating func interfaceChoice(_ setting: Setting, besides other: InterfaceChoice) -> InterfaceChoice? {
        value(of: setting, insteadAllowed: "\(setting.form.allowed), other than ALTNET_INTERFACE") { text in
            InterfaceChoice(text).flatMap { $0 == other ? nil : $0 }
        }
    }

    mutating func permissions(_ setting: Setting) -> UInt32 {
        let number = { (text: String) in UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? $0 : nil } }
        return value(of: setting, read: number) ?? number(setting.example) ?? 0
    }

    mutating func group(_ setting: Setting) -> UInt32? {
        value(of: setting) { text in UInt32(text) ?? UserGroup.number(of: text) }
    }

    mutating func level(_ setting: Setting) -> Logger.Level {
        value(of: setting, read: Logger.Level.init(rawValue:)) ?? .notice
    }

    /// Returns the choice; nil if the setting is not set or invalid.
    mutating func choice<Choice: RawRepresentable<String>>(_ setting: Setting) -> Choice? {
        value(of: setting, read: Choice.init(rawValue:))
    }

    mutating func isYes(_ setting: Setting) -> Bool {
        value(of: setting) { text in ["yes": true, "no": false][text] } ?? (setting.example == "yes")
    }

    mutating func dhcpIdentity(_ setting: Setting) -> DHCPIdentity {
        value(of: setting, read: DHCPIdentity.init) ?? .hardware
    }

    mutating func hostName(_ setting: Setting) -> HostName? { value(of: setting, read: HostName.init) }

    /// Returns the unchecked text; nil if the setting is not set or empty.
    func anyText(_ setting: Setting) -> String? { given[setting.name].flatMap { $0.text.isEmpty ? nil : $0.text } }

    /// Returns the value that `read` parses; nil if the setting is not set, empty or invalid.
    mutating func other<Value>(_ setting: Setting, read: (String) -> Value?) -> Value? {
        guard anyText(setting) != nil else { return nil }
        return value(of: setting, insteadAllowed: "\(setting.form.allowed), such as \(setting.example)", read: read)
    }

    private mutating func value<Value>(
        of setting: Setting, insteadAllowed allowed: String? = nil, read: (String) -> Value?
    ) -> Value? {
        guard let text = given[setting.name]?.text else { return nil }
        if let value = read(text) { return value }
        refuse(setting, "is \(text.quoted)", allowed: allowed ?? setting.form.allowed)
        return nil
    }
}

extension String {
    /// True if the kernel accepts the name (dev_valid_name), and it has only letters, digits and `._-`.
    var isInterfaceName: Bool {
        (1...15).contains(utf8.count) && self != "." && self != ".."
            && utf8.allSatisfy { byte in
                let scalar = Unicode.Scalar(byte)
                return scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                    || "._-".unicodeScalars.contains(scalar)
            }
    }
}
