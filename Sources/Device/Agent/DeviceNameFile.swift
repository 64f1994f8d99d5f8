import AgentModel
import KeyFile

/// The device's name, in a file in /run. Root's helper reads it and announces the name in the network.
struct DeviceNameFile: BootRecord {
    let directory: String

    static let name = "device-name"
    /// Maximum length of an announced name in bytes. A string of a TXT record has 255, and `name=` takes five.
    static let longest = 250

    /// Writes the name, cut after a whole character. The file is empty without a name.
    func write(_ name: DeviceName?, boot: String) throws(KeyFileError) {
        let file = SmallFile(directory: directory, name: Self.name, longest: Self.longest)
        try file.write(name?.prefix(ofBytes: Self.longest) ?? "")
    }
}

extension DeviceAgent {
    /// Writes the name unless the file has it already.
    func announce(_ name: DeviceName?) {
        guard writtenName != .some(name) else { return }
        writtenName = .some(name)
        Task {
            do { try await nameStore.write(name) } catch {
                // The next change of the status tries again.
                if writtenName == .some(name) { writtenName = nil }
                log.warning("cannot write the device's name, so the network does not learn it: \(error)")
            }
        }
    }
}
