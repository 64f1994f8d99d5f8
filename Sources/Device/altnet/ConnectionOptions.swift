import AppClient
import ArgumentParser

/// What every command that talks to the agent takes.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var device: DeviceOptions

    @Flag(help: "Print JSON, in the terms of the app protocol.")
    var json = false

    /// In seconds.
    var answerWithin: Int { device.answerWithin ?? 10 }

    func endpoint(_ console: Console) throws -> Endpoint { try device.endpoint(console) }
}

/// What a command takes that works on this machine's own files and asks no agent: nothing that names one.
struct LocalOptions: ParsableArguments {
    @OptionGroup(visibility: .private) var device: DeviceOptions

    func validate() throws {
        if device.isGiven {
            throw ValidationError(
                "This command asks no agent: it goes without --device, --device-id, --key-file, --socket and --answer-within."
            )
        }
    }
}
