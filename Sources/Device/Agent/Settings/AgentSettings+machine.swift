import AgentModel
import Connectivity
import Glibc
import KeyFile

extension AgentSettings {
    /// Maximum size of the settings file in bytes.
    public static let maximumFileLength = SettingsFile.maximumLength

    /// Indices of the rows of a settings file that set one of these names.
    public static func rows(setting names: [String], in content: [UInt8]) -> [Int] {
        SettingsFile(path: "", content: content).entries.filter { names.contains($0.name) }.map { $0.line - 1 }
    }

    /// Problems that valid settings cause on this machine.
    public struct Fit: Sendable {
        /// Problems that prevent the start of the agent.
        public var problems: [String] = []
        /// Problems despite which the agent starts. It waits, or works without the missing part.
        public var remarks: [String] = []
    }

    public func fit() -> Fit {
        var fit = Fit()
        checkKeys(&fit)
        if connectivity.targets.contains(where: \.isTLS) || connectivity.authorities != nil {
            do { _ = try TargetTrust(authorities: connectivity.authorities) } catch {
                fit.problems.append("ALTNET_AUTHORITIES: \(error)")
            }
        }
        if if_nametoindex(interface) == 0 {
            fit.remarks.append("ALTNET_INTERFACE: no interface \(interface) now, the agent will wait for it")
        } else if interface != interfaceChoice.description {
            fit.remarks.append("ALTNET_INTERFACE: \(interfaceChoice) is \(interface) now")
        }
        if let problem = StoragePlace(of: keyFilePath).problem { fit.remarks.append("ALTNET_KEYFILE: \(problem)") }
        return fit
    }

    private func checkKeys(_ fit: inout Fit) {
        do {
            _ = try storePlace.rootKey.readOnlySource().load()
        } catch .system(_, let path, let errno) where errno == EACCES || errno == EPERM {
            fit.remarks.append("ALTNET_ROOT_KEY: \(path.printable) is not readable by this user and was not checked")
        } catch .system(_, _, ENOENT) {
            // The agent creates the root key with the first network.
        } catch {
            fit.problems.append("ALTNET_ROOT_KEY: \(error)")
        }
        do { _ = try DeviceIdentity.read(from: stateDirectory) } catch {
            switch error.reason {
            case .missing, .notPermitted, .alreadyThere: break
            case .invalid, .system: fit.problems.append("ALTNET_STATE_DIR: \(error)")
            }
        }
    }
}
