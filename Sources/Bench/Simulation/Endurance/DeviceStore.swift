import AppProtocol
import KeyFile

/// Key file of a simulated device, on storage that can fail.
package protocol DeviceStore: AnyObject {
    /// The state as stored.
    var state: StoredState { get }
    /// Whether the storage is full and refuses to write.
    var isFull: Bool { get set }
    func commit(_ new: StoredState) throws(ProtocolError)
    /// Opens the key file again, as an agent does that was killed, or started after a power cut.
    func reopen(afterPowerCut: Bool)
}
