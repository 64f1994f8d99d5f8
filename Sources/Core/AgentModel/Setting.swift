package struct SettingGroup: Sendable {
    package let title: String
    package let settings: [Setting]

    package init(title: String, settings: [Setting]) {
        self.title = title
        self.settings = settings
    }
}

/// A setting of a program: an entry of the settings file and its documentation.
package struct Setting: Sendable {
    /// Environment variable and key in the settings file.
    package let name: String
    package let form: SettingForm
    package let standard: Standard
    package let effect: Effect
    package let meaning: String

    package enum Standard: Sendable, Equatable {
        case value(String)
        /// Default described in words, with an example of a value.
        case implied(String, example: String)
    }

    package enum Effect: Sendable {
        case onReload
        case onRestart
    }

    package init(_ name: String, _ form: SettingForm, _ standard: Standard, _ effect: Effect, _ meaning: String) {
        self.name = "ALTNET_" + name
        self.form = form
        self.standard = standard
        self.effect = effect
        self.meaning = meaning
    }

    package static func number(
        _ name: String, _ range: ClosedRange<Int>, _ unit: SettingForm.Unit? = nil, standard: Int, _ effect: Effect,
        _ meaning: String
    ) -> Setting {
        Setting(name, .number(range, unit), .value("\(standard)"), effect, meaning)
    }

    /// Creates a setting in whole seconds.
    package static func seconds(
        _ name: String, _ range: ClosedRange<Int>, standard: Duration, _ effect: Effect, _ meaning: String
    ) -> Setting {
        number(name, range, .seconds, standard: Int(standard.components.seconds), effect, meaning)
    }

    package var example: String {
        switch standard {
        case .value(let value), .implied(_, example: let value): value
        }
    }

    package var standardText: String {
        switch standard {
        case .value(let value): value
        case .implied(let words, _): words
        }
    }
}

package enum SettingForm: Sendable {
    case number(ClosedRange<Int>, Unit?)
    case path
    case interface
    case group
    /// Permissions of a file, in octal.
    case permissions
    case oneOf([String])
    case other(String)

    package enum Unit: String, Sendable {
        case dBm, dB, kB
        case mebibytes = "MiB"
        case seconds = "s"
        case thousandths
    }

    /// Allowed values in words, for a message that ends "allowed: ...".
    package var allowed: String {
        switch self {
        case .number(let range, let unit):
            "a whole number from \(range.lowerBound) to \(range.upperBound)\(unit.map { " (\($0.rawValue))" } ?? "")"
        case .path: "a path that begins with /"
        case .interface: "the name of a network interface: 1 to 15 letters, digits, dots, dashes and underscores"
        case .group: "the name or the number of a group on this device"
        case .permissions: "permissions in octal, such as 0660"
        case .oneOf(let words): words.joined(separator: ", ")
        case .other(let words): words
        }
    }
}
