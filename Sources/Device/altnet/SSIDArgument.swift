import AgentModel
import ArgumentParser

/// An SSID as this program prints it: `\xNN` is a byte, and a backslash is doubled.
struct SSIDArgument: ExpressibleByArgument, Equatable {
    let ssid: SSID

    init?(argument: String) {
        guard let ssid = SSID(description: argument) else { return nil }
        self.ssid = ssid
    }

    var defaultValueDescription: String { ssid.description }
}
