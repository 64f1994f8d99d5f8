import AgentModel
import AppProtocol
import Glibc
import QRCode

/// Where a pairing code goes. Whoever has it has the device.
extension PairingCode {
    /// Writes the code to a file that nobody else can read. A file that has it already stays as it is.
    /// - Parameter replacing: false to leave alone what else is there.
    func write(to path: String, replacing: Bool) throws {
        var line = Array((uri() + "\n").utf8)
        defer { line.withUnsafeMutableBytes { wipe($0) } }
        var status = stat()
        // A pipe would have this wait for a writer.
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let there = try? PrivateFile.read(path, maximum: line.count), there == line
        {
            return
        }
        do { try PrivateFile.write(line, to: path, replacing: replacing) } catch let failure as any KeyFileFailure {
            throw CommandFailure(failure)
        }
    }

    /// Shows the code: to a person as a picture and as text, to a program as a line.
    func present(_ console: Console) throws {
        guard console.style.goesToTerminal else { return console.print(uri()) }
        let symbol: QRCode
        do { symbol = try QRCode(uri().utf8) } catch { throw CommandFailure(.defect, "\(error)") }
        if let picture = QRCodeView(code: symbol).render(console.style) {
            console.print(picture + "\n")
        } else {
            console.advise(
                "The QR code is wider than this terminal: it takes more columns than \(console.style.width).")
        }
        let key = device.localKey.withBytes { String(decoding: $0, as: UTF8.self) }
        console.print("Device id  \(device.deviceId)\nLocal key  \(key.printable)\nCode       \(uri())")
        console.advise("Whoever has this code has the device: show it to its owner only.")
    }
}
